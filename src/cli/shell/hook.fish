
# Reports the session's failures after each command, also those that only close() returned, which no shell checks.
# Another process reads the mounts, as one may be stopped.
set -g __ddbfs_told ''
function __ddbfs_tell --on-event fish_postexec
    set -l status_of_command --status=$status
    string match -q '*ddbfs*' </proc/self/mounts; or return
    test "$argv[1]" = quiet; and set status_of_command --quiet
    set -g __ddbfs_told (ddbfs shell --told "$__ddbfs_told" $status_of_command)
end
# Failed lookups while a command is typed are not its failures.
function __ddbfs_begin --on-event fish_preexec
    __ddbfs_tell quiet
end
__ddbfs_tell quiet

# Completes table names for the commands that take one.
complete -c ddbfs -n '__fish_seen_subcommand_from load dump push advise what-if archive violations; and test (count (commandline -opc)) -eq 2' -f -a '(ddbfs shell --tables 2>/dev/null)'
complete -c ddbfs -n '__fish_seen_subcommand_from index; and test (count (commandline -opc)) -eq 3' -f -a '(ddbfs shell --tables 2>/dev/null)'

# Completes names that no listing shows: query/ and similar directories, clauses, values, results; and then nothing else.
function __ddbfs_finds
    set -l word (string unescape -- (commandline -ct)); or set word (commandline -ct)
    set -g __ddbfs_found (ddbfs shell --complete "$word" 2>/dev/null)
    # The mount does not answer: no other completion may access it.
    test $status -eq 1 -o -n "$__ddbfs_found"
end
for program in cat ls jq head tail less more wc grep sort cut diff cd find vi vim nano
    complete -c $program -n __ddbfs_finds -f -a '$__ddbfs_found'
end
