/// What `authctl help TOPIC` tells beside the commands.
enum Topics {
  static let texts = [
    "ci": """
    authctl in CI, cron and containers: no terminal, no desktop, no keyring

    Nothing is asked there: a command that would have to ends with 10 and says what
    would have given it. --no-input or AUTHCTL_NO_INPUT=1 say so everywhere. A
    keyring that is missing or locked ends with 12.

    One step needs no store. A session for one program, ended after it:

      AUTHCTL_PASSWORD=... \\
        authctl exec --login -p ./ci/shop.toml -u ci -- make deploy

    A token that is there already needs no profile either:

      AUTHCTL_URL=https://api.shop.example AUTHCTL_TOKEN=... authctl get /orders

    AUTHCTL_TOKEN serves one origin: that of AUTHCTL_URL, else of the profile that
    -p, AUTHCTL_PROFILE or default_profile names, else of the only profile.
    AUTHCTL_TOKEN_FILE names a file that holds the token and is read at each use;
    AUTHCTL_TOKEN_FOR_NAME serves the profile NAME and comes first.

    Several steps share a session in sealed files, below AUTHCTL_STATE_DIR
    (~/.local/state/authctl). They need a key, made in the job:

      (umask 077; head -c 32 /dev/urandom >/secure/authctl.key)
      export AUTHCTL_STORE=file AUTHCTL_STORE_KEY_FILE=/secure/authctl.key
      export AUTHCTL_STATE_DIR=/secure/authctl
      authctl login -p ./ci/shop.toml -u ci --password-file /run/secrets/shop
      authctl get -p ./ci/shop.toml -u ci /orders
      authctl logout -p ./ci/shop.toml -u ci

    The key is 32 bytes, 64 hex digits or 44 base64 characters, in a file that only
    its owner can read; AUTHCTL_STORE_PASSPHRASE gives a passphrase instead, and a
    service of systemd the credential authctl-store-key. AUTHCTL_STORE=plaintext
    seals nothing, and warns of it at each login.

    A job of cron signs in again by itself, where the session cannot be renewed,
    when it was made with: authctl login --password-command CMD --keep-command

    GitHub and GitLab mask the secrets that they gave, and no token that the job
    got at the API: echo "::add-mask::$(authctl token)" does that on GitHub.

    Errors are one line of JSON with AUTHCTL_ERRORS=json. Whole recipes for GitHub
    Actions, GitLab CI, cron, systemd and Docker, and the exit codes: README.md.
    """
  ]
}
