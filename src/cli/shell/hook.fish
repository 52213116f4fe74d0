
# Failures of the session, told after the command: those too that close() alone heard of, which no shell looks at.
function __ddbfs_tell --on-event fish_postexec
    set -l code $status
    set -l told
    while read -l source point rest
        string match -qr '^ddbfs([#\\\\]|$)' -- $source; or continue
        set -l file (printf %b $point)/.ddb/errors/last
        test -r $file; or continue
        set -l text
        read -z text <$file
        test -n "$text"; or continue
        # All but the age, which moves.
        set -l id (string replace -r ',[^,]*$' '' -- "$text" | string collect)
        set -a told $id
        contains -- $id $__ddbfs_told; and continue
        test "$argv[1]" = quiet; and continue
        # A command that succeeded may have tried more than it needed; a write that was refused is never part of that.
        test $code -ne 0; or string match -qr '^(write|close|fsync) ' -- "$text"; or continue
        string replace -r '\n[^\n]*$' '' -- "$id" >&2
    end </proc/self/mounts
    set -g __ddbfs_told $told
end
# What is looked for while a command is typed is no failure of it.
function __ddbfs_begin --on-event fish_preexec
    __ddbfs_tell quiet
end
__ddbfs_tell quiet

# Names of tables for the commands that take one.
complete -c ddbfs -n '__fish_seen_subcommand_from load dump push advise archive violations; and test (count (commandline -opc)) -eq 2' -f -a '(ddbfs shell --tables 2>/dev/null)'
complete -c ddbfs -n '__fish_seen_subcommand_from index; and test (count (commandline -opc)) -eq 3' -f -a '(ddbfs shell --tables 2>/dev/null)'

# What no listing shows: query/ and its like, clauses, values, results.
for program in cat ls jq head tail less more wc grep sort cut diff cd find vi vim nano
    complete -c $program -a '(ddbfs shell --complete (commandline -ct) 2>/dev/null)'
end
