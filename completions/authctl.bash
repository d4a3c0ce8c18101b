# bash completion for authctl. It asks the authctl on the PATH for candidates. It requires bash 4.2
# or later and works without bash-completion. Source this file, or install it as
# /usr/share/bash-completion/completions/authctl.

_authctl() {
  local words=() line=$COMP_LINE word i
  # Join what readline split at = : @; parts without a blank between them are one word.
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
  # readline replaces only the text after the last break, and counts an @ as part of that text.
  local kept=
  case $typed in
    [\'\"]*) ;;
    *[=:@]*) kept=${typed%"${typed##*[=:@]}"} kept=${kept%@} ;;
  esac

  # The words still have the quotes that were typed: remove them.
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

# Adds a candidate, quoted for the shell: no name of a file or account is ever split or run.
# readline's own quoting of file names covers only a part of the word after an option.
_authctl_add() { # CANDIDATE [FILE'S NAME AS TYPED]
  local candidate=$1 home=
  case $typed in
    \'*) candidate=${candidate//\'/\'\\\'\'} ;;
    \"*)
      # Inside double quotes a ! cannot be escaped from history expansion.
      [[ $candidate == *"!"* ]] && return
      candidate=${candidate//\\/\\\\} candidate=${candidate//\"/\\\"}
      candidate=${candidate//\$/\\\$} candidate=${candidate//\`/\\\`}
      ;;
    *)
      candidate=${candidate#"$kept"}
      if [[ ${2-} == \~*/* && $candidate == "${2%%/*}/"* ]]; then
        # Keep a home folder as it was typed.
        home=${2%%/*}/ candidate=${candidate#"${2%%/*}/"}
      fi
      [[ $candidate == *[!-A-Za-z0-9_=:@./,+%]* ]] && printf -v candidate %q "$candidate"
      ;;
  esac
  COMPREPLY+=("$home$candidate")
} && complete -F _authctl authctl
