#!/usr/bin/env bash
# A walk through authctl: register, log in, request, a token that expires and is renewed, a wrong
# password, log out. `make demo` builds the programs and runs it.
#
#   Tests/demo.sh FOLDER       FOLDER contains authctl and DemoAPI
#
# Everything is real and private: an HTTP API on a free port of this machine, a D-Bus and a
# gnome-keyring of its own, a home in a temporary folder. All of it is removed at the end. Exits
# with 1 if a step does not show what it should.

set -u
bin=$(cd "${1:?usage: Tests/demo.sh FOLDER}" && pwd) || exit 2
for program in "$bin/authctl" "$bin/DemoAPI" dbus-daemon gnome-keyring-daemon gdbus; do
  command -v "$program" >/dev/null || { echo "demo: $program is missing: make demo" >&2; exit 2; }
done

# Not TMPDIR: the path of a socket is limited to 107 bytes.
world=$(mktemp -d /tmp/authctl-demo.XXXXXX) || exit 1
started=()

clean_up() {
  trap '' INT TERM HUP
  # Stop the keyring before the bus, or it complains that the bus is gone.
  for ((i = ${#started[@]} - 1; i >= 0; i--)); do
    kill "${started[i]}" 2>/dev/null
    wait "${started[i]}" 2>/dev/null
  done
  rm -rf "$world"
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 141' PIPE
trap 'exit 143' TERM

fail() {
  echo "demo: $1" >&2
  exit 1
}

# Use nothing of the user's: no profiles, tokens, proxy, bus or keyring.
for name in $(compgen -e); do
  case $name in
    AUTHCTL_* | XDG_* | DBUS_* | GNOME_* | *_[pP][rR][oO][xX][yY]) unset "$name" ;;
  esac
done
mkdir -m 700 "$world"/{home,keyring,run}
export HOME=$world/home XDG_RUNTIME_DIR=$world/run PATH=$bin:$PATH
export DBUS_SESSION_BUS_ADDRESS=unix:path=$world/bus
cd "$HOME" || exit 1

cat >"$world/bus.conf" <<END
<busconfig>
  <type>session</type>
  <listen>$DBUS_SESSION_BUS_ADDRESS</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
END
dbus-daemon --config-file="$world/bus.conf" --nofork --nopidfile 2>"$world/bus.log" &
started+=($!)
for ((i = 0; i < 400; i++)); do
  [ -S "$world/bus" ] && break
  sleep 0.05
done

env HOME="$world/keyring" XDG_DATA_HOME="$world/keyring" \
  gnome-keyring-daemon --foreground --unlock --components=secrets \
  --control-directory="$world/keyring/control" \
  <<<"not a secret" >"$world/keyring.log" 2>&1 &
started+=($!)

DemoAPI --port-file "$world/port" --token-ttl 8 >"$world/api.log" 2>&1 &
started+=($!)
for ((i = 0; i < 400; i++)); do
  [ -s "$world/port" ] && break
  sleep 0.05
done
[ -s "$world/port" ] || fail "DemoAPI did not start: $(cat "$world/api.log")"
URL=http://127.0.0.1:$(cat "$world/port")
export URL

gdbus wait --session --timeout 20 org.freedesktop.secrets ||
  fail "gnome-keyring did not start: $(cat "$world/keyring.log")"

# Prints the explanation, the command and its output, and any status other than 0.
say() { printf '\n# %s\n' "$1"; }

run() { # STATUS PATTERN COMMAND: the output must match the pattern.
  local wanted=$1 pattern=$2 status=0 output
  printf '$ %s\n' "$3"
  output=$(eval "$3" 2>&1) || status=$?
  [ -z "$output" ] || printf '%s\n' "$output"
  [ $status -eq 0 ] || printf '(exit status %d)\n' $status
  [ $status -eq "$wanted" ] || fail "the exit status should have been $wanted"
  grep -qE -- "$pattern" <<<"$output" || fail "the output should have matched: $pattern"
}

echo "A small API listens at URL=$URL. Its access tokens expire after 8 seconds."

say 'Describe the API once: it uses JSON, and these are its paths.'
run 0 '' 'authctl profile add demo "$URL" --preset json \
    --set register.path=/register \
    --set '\''register.body={"email":"{username}","password":"{password}"}'\'' \
    --body '\''{"email":"{username}","password":"{password}"}'\'' \
    --set refresh.path=/refresh --set '\''refresh.body={"refresh_token":"{refresh_token}"}'\'' \
    --set logout.path=/logout --set logout.authorization=access --set logout.encoding=none \
    --set whoami.path=/me'

PW='open "sesame": 7'
say 'Create an account. The password, PW, goes through standard input, not the arguments.'
run 0 'authctl login' \
  'printf "%s\n" "$PW" | authctl register -u linus@example.com --password-stdin'

say 'Sign in. authctl stores the tokens only in the keyring.'
run 0 'Signed in to demo' \
  'printf "%s\n" "$PW" | authctl login -u linus@example.com --password-stdin'
run 0 'demo +linus@example\.com +valid' 'authctl status'
run 0 '^linus@example\.com$' 'authctl whoami'

say 'Send a request with the session.'
run 0 '"Lamp"' 'authctl get /items'

say 'Ten seconds later, the access token has expired. authctl renews it.'
sleep 10
run 0 'demo +linus@example\.com +refreshable' 'authctl status'
run 0 '"Lamp"' 'authctl get -v /items'
run 0 'demo +linus@example\.com +valid' 'authctl status'

say 'A wrong password has its own exit code, and the session stays as it was.'
run 14 'refused this name and password' \
  'echo wrong | authctl login -u linus@example.com --password-stdin'
run 0 '^linus@example\.com$' 'authctl whoami'

say 'Sign out, at the server and on this machine.'
run 0 'at the server and on this machine' 'authctl logout'
run 10 'not signed in to demo' 'authctl get /items'

printf '\nDone. Nothing is left on this machine. Next: README.md\n'
