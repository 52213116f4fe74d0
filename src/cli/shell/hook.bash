
# Failures of the session, told after the command: those too that close() alone heard of, which no shell looks at.
# A mount is asked by another process: it may be stopped. So this one does not look for the program either, for which bash asks the working
# directory.
__ddbfs_program=$(type -P ddbfs) __ddbfs_told=

__ddbfs_tell() {
  local status=$? mounts
  mapfile -t mounts < /proc/self/mounts
  if [[ ${mounts[*]} == *ddbfs* ]]; then
    __ddbfs_told=$("$__ddbfs_program" shell --told "$__ddbfs_told" ${1:---status=$status})
  fi
  return "$status"
}

# Names of tables for the commands that take one.
__ddbfs_command() {
  _ddbfs "$@"
  local at=2
  [[ ${COMP_WORDS[1]} == index ]] && at=3
  case ${COMP_WORDS[1]} in
    load | dump | push | advise | archive | violations | index)
      if [[ $COMP_CWORD -eq $at && $2 != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$__ddbfs_program" shell --tables 2> /dev/null)" -- "$2")
      fi
      ;;
  esac
}
complete -F __ddbfs_command -o nosort -o bashdefault -o default ddbfs

# What no listing shows: query/ and its like, clauses, values, results. What is not of a mount is for what completed it before.
declare -gA __ddbfs_before

__ddbfs_path() {
  local found program=${1##*/} spec
  COMPREPLY=()
  found=$("$__ddbfs_program" shell --line "${COMP_LINE:0:COMP_POINT}" --breaks "$COMP_WORDBREAKS" 2> /dev/null)
  # A mount that does not answer: nobody else is to look there.
  [[ $? -eq 1 ]] && compopt +o bashdefault +o default && return
  if [[ -n $found ]]; then
    mapfile -t COMPREPLY <<< "$found"
    compopt +o filenames +o nospace
    [[ ${#COMPREPLY[@]} -gt 1 || $found == *[=/,.] ]] && compopt -o nospace
    return 0
  fi
  if [[ ${__ddbfs_before[$program]-none} == none ]]; then
    # bash-completion reads what it knows of a program when that is first asked for.
    __ddbfs_before[$program]=
    spec=$(complete -p -D 2> /dev/null)
    if [[ $spec == *' -F '* ]]; then
      spec=${spec#* -F }
      "${spec%% *}" "$@"
      [[ $? -eq 124 ]] && __ddbfs_complete "$program" && return 124
    fi
  fi
  [[ -n ${__ddbfs_before[$program]} ]] && "${__ddbfs_before[$program]}" "$@"
}

# Has a program's words completed as those of a mount first.
__ddbfs_complete() {
  local spec function
  spec=$(complete -p -- "$1" 2> /dev/null)
  case $spec in
    *' -F __ddbfs_path '*) ;;
    *' -F '*)
      function=${spec#* -F }
      function=${function%% *}
      __ddbfs_before[$1]=$function
      eval "${spec/ -F $function / -F __ddbfs_path }"
      ;;
    '') complete -F __ddbfs_path -o bashdefault -o default -- "$1" ;;
  esac
}

# Once, at the first prompt: whatever else the shell begins with has set its completions by then.
__ddbfs_begin() {
  local status=$? program
  for program in cat ls jq head tail less more wc grep sort cut diff cd find vi vim nano; do
    __ddbfs_complete "$program"
  done
  __ddbfs_tell --quiet
  PROMPT_COMMAND=${PROMPT_COMMAND/__ddbfs_begin/__ddbfs_tell}
  return "$status"
}
case ${PROMPT_COMMAND-} in
  *__ddbfs_*) ;;
  *) PROMPT_COMMAND="__ddbfs_begin${PROMPT_COMMAND:+;$PROMPT_COMMAND}" ;;
esac
