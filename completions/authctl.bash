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
  # readline replaces what stands behind the last of its breaks only, a @ included.
  local kept=
  case $typed in
    [\'\"]*) ;;
    *[=:@]*) kept=${typed%"${typed##*[=:@]}"} kept=${kept%@} ;;
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
        rest=${line#$'\t'files$'\t'}
        word=${plain[${#plain[@]} - 1]}
        word=${word#"$rest"}
        while IFS= read -r candidate; do
          if [[ -d ${candidate/#\~\//$HOME/} ]]; then
            candidate+=/
            compopt -o nospace 2>/dev/null
          fi
          _authctl_add "$rest$candidate" "$word"
        done < <(compgen -f -- "$word")
        ;;
      $'\t'commands$'\t'*)
        while IFS= read -r candidate; do
          _authctl_add "$candidate"
        done < <(compgen -c -- "$typed")
        ;;
      *)
        candidate=${line%%$'\t'*}
        case $candidate in *[=:/]) compopt -o nospace 2>/dev/null ;; esac
        _authctl_add "$candidate"
        ;;
    esac
  done < <(authctl __complete -- "${plain[@]}" 2>/dev/null)
}

# Adds a candidate as the shell must read it: no name of a file or an account is ever taken apart
# or run. readline would quote it as a file's name in part only, where it stands behind an option.
_authctl_add() { # CANDIDATE [FILE'S NAME AS TYPED]
  local candidate=$1 home=
  case $typed in
    \'*) candidate=${candidate//\'/\'\\\'\'} ;;
    \"*)
      # Between these quotes nothing keeps a ! from being history.
      [[ $candidate == *"!"* ]] && return
      candidate=${candidate//\\/\\\\} candidate=${candidate//\"/\\\"}
      candidate=${candidate//\$/\\\$} candidate=${candidate//\`/\\\`}
      ;;
    *)
      candidate=${candidate#"$kept"}
      if [[ ${2-} == \~*/* && $candidate == "${2%%/*}/"* ]]; then
        # A home folder, as it was typed.
        home=${2%%/*}/ candidate=${candidate#"${2%%/*}/"}
      fi
      [[ $candidate == *[!-A-Za-z0-9_=:@./,+%]* ]] && printf -v candidate %q "$candidate"
      ;;
  esac
  COMPREPLY+=("$home$candidate")
} && complete -F _authctl authctl
