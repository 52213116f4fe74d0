
# Failures of the session, told after the command: those too that close() alone heard of, which no shell looks at.
typeset -gA __ddbfs_told

__ddbfs_tell() {
  local code=$? quiet=${1-} source point rest text id
  while read -r source point rest; do
    [[ $source == ddbfs || $source == ddbfs[\#\\]* ]] || continue
    printf -v point %b "$point"
    [[ -r $point/.ddb/errors/last ]] || continue
    text=$(<"$point/.ddb/errors/last")
    # All but the age, which moves.
    id=${text%,*}
    [[ -n $text && $id != ${__ddbfs_told[$point]-} ]] || continue
    __ddbfs_told[$point]=$id
    [[ -n $quiet ]] && continue
    # A command that succeeded may have tried more than it needed; a write that was refused is never part of that.
    (( code != 0 )) || [[ $text == (write|close|fsync)\ * ]] || continue
    print -r -u2 -- "${id%$'\n'*}"
  done < /proc/self/mounts
  return $code
}
# What is looked for while a command is typed is no failure of it.
__ddbfs_begin() { __ddbfs_tell quiet }

__ddbfs_tell quiet
(( ${precmd_functions[(I)__ddbfs_tell]} )) || precmd_functions=(__ddbfs_tell $precmd_functions)
(( ${preexec_functions[(I)__ddbfs_begin]} )) || preexec_functions=($preexec_functions __ddbfs_begin)

# Names of tables for the commands that take one.
__ddbfs_tables() {
  local -a names=(${(f)"$(ddbfs shell --tables 2> /dev/null)"})
  compadd -a names
}

# What no listing shows: query/ and its like, clauses, values, results. Before every other way to complete a word.
__ddbfs_path() {
  local -a found=(${(f)"$(ddbfs shell --complete "$IPREFIX$PREFIX" 2> /dev/null)"})
  (( $#found )) || return 1
  found=(${found#"$IPREFIX"})
  compadd -S '' -a found
}
() {
  local -a completers
  zstyle -a ':completion:*' completer completers || completers=(_complete _ignored)
  (( ${completers[(I)__ddbfs_path]} )) || zstyle ':completion:*' completer __ddbfs_path $completers
}
