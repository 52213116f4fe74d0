
# Failures of the session, told after the command: those too that close() alone heard of, which no shell looks at.
declare -gA __ddbfs_told=()

__ddbfs_tell() {
  local status=$? quiet=${1-} source point rest text id
  while read -r source point rest; do
    [[ $source == ddbfs || $source == ddbfs[#\\]* ]] || continue
    printf -v point %b "$point"
    [[ -r $point/.ddb/errors/last ]] || continue
    text=
    IFS= read -r -d '' text < "$point/.ddb/errors/last"
    # All but the age, which moves.
    id=${text%,*}
    [[ -n $text && $id != "${__ddbfs_told[$point]-}" ]] || continue
    __ddbfs_told[$point]=$id
    [[ -n $quiet ]] && continue
    # A command that succeeded may have tried more than it needed; a write that was refused is never part of that.
    [[ $status -ne 0 || $text == write\ * || $text == close\ * || $text == fsync\ * ]] || continue
    printf '%s\n' "${id%$'\n'*}" >&2
  done < /proc/self/mounts
  return $status
}

__ddbfs_tell quiet
case ${PROMPT_COMMAND-} in
  *__ddbfs_tell*) ;;
  *) PROMPT_COMMAND="__ddbfs_tell${PROMPT_COMMAND:+;$PROMPT_COMMAND}" ;;
esac

# Names of tables for the commands that take one.
__ddbfs_command() {
  _ddbfs "$@"
  local at=2
  [[ ${COMP_WORDS[1]} == index ]] && at=3
  case ${COMP_WORDS[1]} in
    load | dump | push | advise | archive | violations | index)
      if [[ $COMP_CWORD -eq $at && $2 != -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(ddbfs shell --tables 2> /dev/null)" -- "$2")
      fi
      ;;
  esac
}
complete -F __ddbfs_command -o nosort -o bashdefault -o default ddbfs

# What no listing shows: query/ and its like, clauses, values, results.
__ddbfs_path() {
  local word=${COMP_LINE:0:COMP_POINT} kept name
  COMPREPLY=()
  word=${word##*[[:space:]]}
  # The part of the word that readline keeps: up to the last of the characters that it breaks words at.
  name=${word##*[=:@]}
  kept=${word%"$name"}
  case $word in
    [\'\"]*) word=${word:1} kept= ;;
  esac
  mapfile -t COMPREPLY < <(ddbfs shell --complete "$word" 2> /dev/null)
  COMPREPLY=("${COMPREPLY[@]#"$kept"}")
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} != *[=/,] ]] && compopt +o nospace
}
for __ddbfs_program in cat ls jq head tail less more wc grep sort cut diff cd find vi vim nano; do
  complete -p "$__ddbfs_program" > /dev/null 2>&1 ||
    complete -F __ddbfs_path -o nospace -o bashdefault -o default "$__ddbfs_program"
done
unset __ddbfs_program
