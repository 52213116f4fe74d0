
# Reports the session's failures after each command, also those that only close() returned, which no shell checks.
# Another process reads the mounts, as one may be stopped. For the same reason the program's path is looked up once: bash would search the
# working directory.
__ddbfs_program=$(type -P ddbfs) __ddbfs_told=

__ddbfs_tell() {
  local status=$? mounts
  mapfile -t mounts < /proc/self/mounts
  if [[ ${mounts[*]} == *ddbfs* ]]; then
    __ddbfs_told=$("$__ddbfs_program" shell --told "$__ddbfs_told" ${1:---status=$status})
  fi
  return "$status"
}

# Completes table names for the commands that take one.
__ddbfs_command() {
  _ddbfs "$@"
  local at=2
  [[ ${COMP_WORDS[1]} == index ]] && at=3
  case ${COMP_WORDS[1]} in
    load | dump | push | advise | what-if | archive | violations | index)
      if [[ $COMP_CWORD -eq $at && $2 != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$__ddbfs_program" shell --tables 2> /dev/null)" -- "$2")
      fi
      ;;
  esac
}
complete -F __ddbfs_command -o nosort -o bashdefault -o default ddbfs

# Completes names that no listing shows: query/ and similar directories, clauses, values, results. Outside of mounts the previous completion
# function is used.
declare -gA __ddbfs_before

__ddbfs_path() {
  local found program=${1##*/} spec word=${COMP_LINE:0:COMP_POINT}
  COMPREPLY=()
  word=${word##*[[:space:];|&()<>]}
  found=$("$__ddbfs_program" shell --complete "$word" 2> /dev/null)
  # The mount does not answer: no other completion may access it.
  [[ $? -eq 1 ]] && compopt +o bashdefault +o default && return
  # What is found is inserted as it is: a word with quotes or backslashes is left to other completions.
  if [[ -n $found && $word != *[\\\'\"]* ]]; then
    mapfile -t COMPREPLY <<< "$found"
    # Readline completes only the end of the word, from a character of COMP_WORDBREAKS on.
    COMPREPLY=("${COMPREPLY[@]#"${word%"$2"}"}")
    compopt +o filenames +o nospace
    [[ ${#COMPREPLY[@]} -gt 1 || $found == *[=/,.] ]] && compopt -o nospace
    return 0
  fi
  if [[ ${__ddbfs_before[$program]-none} == none ]]; then
    # bash-completion loads a program's completions at its first use.
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

# Completes a program's words as names in a mount first.
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

# Once, at the first prompt: all other startup files have set their completions by then.
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
