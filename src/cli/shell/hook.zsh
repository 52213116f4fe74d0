
# Failures of the session, told after the command: those too that close() alone heard of, which no shell looks at.
# A mount is asked by another process: it may be stopped.
typeset -g __ddbfs_told=

__ddbfs_tell() {
  local code=$?
  if [[ "$(</proc/self/mounts)" == *ddbfs* ]]; then
    __ddbfs_told=$(ddbfs shell --told "$__ddbfs_told" ${1:---status=$code})
  fi
  return $code
}
# What is looked for while a command is typed is no failure of it.
__ddbfs_begin() { __ddbfs_tell --quiet }

__ddbfs_tell --quiet
(( ${precmd_functions[(I)__ddbfs_tell]} )) || precmd_functions=(__ddbfs_tell $precmd_functions)
(( ${preexec_functions[(I)__ddbfs_begin]} )) || preexec_functions=($preexec_functions __ddbfs_begin)

# Names of tables for the commands that take one.
__ddbfs_tables() {
  local -a names=(${(f)"$(ddbfs shell --tables 2> /dev/null)"})
  compadd -a names
}

# What no listing shows: query/ and its like, clauses, values, results. Before every other way to complete a word.
__ddbfs_path() {
  local found
  found=$(ddbfs shell --complete "${(Q)IPREFIX}${(Q)PREFIX}" 2> /dev/null)
  # A mount that does not answer: nobody else is to look there.
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
