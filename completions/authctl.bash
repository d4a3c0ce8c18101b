# bash completion for authctl: what may stand here is asked of the authctl on the PATH.
# For bash 4.2 and later; bash-completion is not needed. Source it, or leave it in
# /usr/share/bash-completion/completions/authctl.

_authctl() {
  local words=() line=$COMP_LINE word i
  # What readline split at = : @ is one word again; blanks between words tell which belong together.
  for ((i = 0; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
      line=${line#"${line%%[![:space:]]*}"}
      words+=("$word")
    else
      words[${#words[@]} - 1]+=$word
    fi
    line=${line#"$word"}
  done
  ((${#words[@]} > 1)) || return 0

  local typed=${words[${#words[@]} - 1]}
  # readline replaces what stands behind the last of its breaks only.
  local kept=
  case $typed in
    *[=:@]*) kept=${typed%"${typed##*[=:@]}"} ;;
  esac

  # Quotes as they are typed: the shell has not taken them away yet.
  local plain=() rest candidate
  for word in "${words[@]:1}"; do
    case $word in
      \'*\' | \"*\") word=${word:1:${#word}-2} ;;
      [\'\"]*) word=${word:1} ;;
    esac
    plain+=("$word")
  done

  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      $'\t'files$'\t'*)
        compopt -o filenames 2>/dev/null
        rest=${line#$'\t'files$'\t'}
        word=${plain[${#plain[@]} - 1]}
        while IFS= read -r candidate; do
          COMPREPLY+=("${candidate}")
        done < <(compgen -f -- "${word#"$rest"}")
        ;;
      $'\t'commands$'\t'*)
        while IFS= read -r candidate; do
          COMPREPLY+=("$candidate")
        done < <(compgen -c -- "$typed")
        ;;
      *)
        candidate=${line%%$'\t'*}
        case $candidate in *[=:]) compopt -o nospace 2>/dev/null ;; esac
        candidate=${candidate#"$kept"}
        # Names that the shell would take apart are quoted.
        [[ $candidate == *[!-A-Za-z0-9_=:@./,+%]* ]] && printf -v candidate %q "$candidate"
        COMPREPLY+=("$candidate")
        ;;
    esac
  done < <(authctl __complete -- "${plain[@]}" 2>/dev/null)
} && complete -F _authctl authctl
