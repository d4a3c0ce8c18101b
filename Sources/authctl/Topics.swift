/// What `authctl help TOPIC` tells beside the commands.
enum Topics {
  static let texts = [
    "ci": """
    authctl in CI, cron and containers: no terminal, no desktop, no keyring

    A token from the surroundings needs no store and no profile:

      AUTHCTL_URL=https://api.shop.example AUTHCTL_TOKEN=... authctl get /orders

    AUTHCTL_TOKEN serves one origin: that of AUTHCTL_URL, else of the profile that
    -p, AUTHCTL_PROFILE or default_profile names, else of the only profile.
    AUTHCTL_TOKEN_FILE names a file that holds the token and is read at each use;
    AUTHCTL_TOKEN_FOR_NAME serves the profile NAME and comes first.

    Nothing is asked without a terminal: a command that would have to ends with 10
    and says what would have given it. --no-input or AUTHCTL_NO_INPUT=1 say so
    everywhere. A keyring that is missing or locked ends with 12.

    A keyring of one's own, for a job that must sign in and renew:

      dbus-run-session -- sh -c '
        printf %s "$KEYRING_PASSWORD" | gnome-keyring-daemon --unlock >/dev/null
        authctl login -p shop -u bot --password-file /run/secrets/shop
        authctl get -p shop /orders'

    Or no keyring at all: AUTHCTL_STORE=file keeps each session in a sealed file
    below AUTHCTL_STATE_DIR (~/.local/state/authctl), and needs a key:

      (umask 077; head -c 32 /dev/urandom >/secure/authctl.key)
      export AUTHCTL_STORE=file AUTHCTL_STORE_KEY_FILE=/secure/authctl.key

    The key is 32 bytes, 64 hex digits or 44 base64 characters, in a file that only
    its owner can read; AUTHCTL_STORE_PASSPHRASE gives a passphrase instead, and a
    service of systemd the credential authctl-store-key. AUTHCTL_STORE=plaintext
    seals nothing, and warns of it at each login.

    Errors are one line of JSON with AUTHCTL_ERRORS=json; exit codes are in README.md.
    """
  ]
}
