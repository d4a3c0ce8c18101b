/// The topics of `authctl help TOPIC`.
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
    AUTHCTL_TOKEN_FOR_NAME serves the profile NAME and comes first; where it fits
    two profiles (my-shop and my.shop), it serves neither.

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
    """,
    "pages": """
    authctl get --paginate: lists that come in pages

      authctl get /items --paginate                     each page as it came
      authctl get /items --paginate --slurp             [page, page, ...]
      authctl get /items --paginate --each /data        one element per line
      authctl get /items --paginate --next /links/next  the next URL is in a body
      authctl get /items --paginate --next-cursor /meta/cursor=after

    Without --next and --next-cursor the profile's [pages] says where the next page
    is told; without that it is the header Link with rel=next, or a key that has no
    other meaning: @odata.nextLink, _links.next.href, and links.next of JSON:API.
    What was said is all that is looked at. A URL in a body is relative to the
    page's own. Null, false, an empty text or nothing there ends the list.

    --slurp writes nothing before all pages have come, and holds them until then,
    256 MiB at most; otherwise one page is held, of 64 MiB at most. --each works on
    a single answer too; its numbers keep their digits. -o takes all pages into one
    file, -i shows the head of each.

    A page that fails ends the run with its own code, behind the pages before it.
    So does, with 13, a next page of another origin, one in clear behind one in
    TLS, and one that was fetched already. Then --slurp and -o write nothing. With
    --each and --slurp the failed answer goes to standard error.
    """,
    "retry": """
    authctl get --retry N: what fails in passing is asked for again

      authctl get /items --retry 3
      authctl get /items --retry 8 --retry-max-time 10m
      authctl put /items/1 --json @item.json --retry 3 --retry-all-methods
      authctl get /items --paginate --rate 20/s

    Sent again are GET and HEAD, all methods with --retry-all-methods: after 408,
    429, 500, 502, 503, 504, also where --ok names them, and when the connection
    fails or no answer comes in time. Not once a part of the answer was written;
    a file of -o is begun anew.

    The wait is what Retry-After says, else 1, 2, 4 ... 60 seconds, a fifth more or
    less. An answer that asks for more than 60 seconds is taken as it is;
    --retry-max-time allows more, and begins no try after that time. -m covers all:
    a wait that it does not leave time for is not begun.

    Sign-ins and renewals are never sent again by it, and the repeat after a 401 is
    no retry. --rate spaces the beginnings of pages and tries.
    """,
  ]
}
