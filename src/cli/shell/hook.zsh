
# Reports the session's failures after each command, also those that only close() returned, which no shell checks.
# Another process reads the mounts, as one may be stopped.
typeset -g __ddbfs_told=

__ddbfs_tell() {
  local code=$?
  if [[ "$(</proc/self/mounts)" == *ddbfs* ]]; then
    __ddbfs_told=$(ddbfs shell --told "$__ddbfs_told" ${1:---status=$code})
  fi
  return $code
}
# Failed lookups while a command is typed are not its failures.
__ddbfs_begin() { __ddbfs_tell --quiet }

__ddbfs_tell --quiet
(( ${precmd_functions[(I)__ddbfs_tell]} )) || precmd_functions=(__ddbfs_tell $precmd_functions)
(( ${preexec_functions[(I)__ddbfs_begin]} )) || preexec_functions=($preexec_functions __ddbfs_begin)

# Completes table names for the commands that take one.
__ddbfs_tables() {
  local -a names=(${(f)"$(ddbfs shell --tables 2> /dev/null)"})
  compadd -a names
}

# Completes names that no listing shows: query/ and similar directories, clauses, values, results. Before all other completions.
__ddbfs_path() {
  local found
  found=$(ddbfs shell --complete "${(Q)IPREFIX}${(Q)PREFIX}" 2> /dev/null)
  # The mount does not answer: no other completion may access it.
  (( $? == 1 )) && return 0
  [[ -n $found ]] || return 1
  local -a names=(${(f)found})
  names=(${names#"${(Q)IPREFIX}"})
  compadd -S '' -a names
}
() {
  local -a completers
  zstyle -a ':completion:*' completer completers || completers=(_complete _ignored)
  (( ${completers[(I)__ddbfs_path]} )) || zstyle ':completion:*' completer __ddbfs_path $completers
}
