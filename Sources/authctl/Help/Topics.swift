/// The topics of `authctl help TOPIC`.
enum Topics {
  static let texts = [
    "ci": """
    authctl in CI, cron and containers: no terminal, no desktop, no keyring

    Without a terminal, authctl never asks. If something is missing, it exits with
    10 and says how to give it. --no-input or AUTHCTL_NO_INPUT=1 turns questions
    off on a terminal too. If the keyring is missing or locked, it exits with 12.

    One step needs no store. This session ends with the program:

      AUTHCTL_PASSWORD=... \\
        authctl exec --login -p ./ci/shop.toml -u ci -- make deploy

    If you already have a token, you need no profile either:

      AUTHCTL_URL=https://api.shop.example AUTHCTL_TOKEN=... authctl get /orders

    AUTHCTL_TOKEN is sent only to one origin: that of AUTHCTL_URL, otherwise that
    of the profile from -p, AUTHCTL_PROFILE or default_profile, otherwise that of
    the only profile. AUTHCTL_TOKEN_FILE names a file with the token, read at each
    use. AUTHCTL_TOKEN_FOR_NAME is for the profile NAME and takes precedence. If it
    matches two profiles (my-shop and my.shop), it is used for neither.

    Several steps share a session in encrypted files in AUTHCTL_STATE_DIR (default
    ~/.local/state/authctl). They require a key, which the job can create:

      (umask 077; head -c 32 /dev/urandom >/secure/authctl.key)
      export AUTHCTL_STORE=file AUTHCTL_STORE_KEY_FILE=/secure/authctl.key
      export AUTHCTL_STATE_DIR=/secure/authctl
      authctl login -p ./ci/shop.toml -u ci --password-file /run/secrets/shop
      authctl get -p ./ci/shop.toml -u ci /orders
      authctl logout -p ./ci/shop.toml -u ci

    The key has 32 bytes, 64 hex digits or 44 base64 characters, in a file that
    only its owner can read. Instead, you can set AUTHCTL_STORE_PASSPHRASE, or give
    a systemd service the credential authctl-store-key. AUTHCTL_STORE=plaintext
    does not encrypt the files and warns at each sign-in.

    In a cron job, authctl can sign in again by itself when a session cannot be
    renewed. Sign in once with: authctl login --password-command CMD --keep-command

    If the authorization server trusts jobs of GitHub or GitLab, they need no
    stored secret: authctl login --ci github --audience NAME

    GitHub and GitLab mask the secrets that they gave to the job, but not a token
    that the job gets from the API. On GitHub, authctl token --mask masks it.

    With AUTHCTL_ERRORS=json, errors are one line of JSON. README.md has complete
    examples for GitHub Actions, GitLab CI, cron, systemd and Docker.
    """,
    "oauth": """
    authctl login with OAuth 2.0 and OpenID Connect

    Many APIs say which authorization server signs in to them. Their URL is enough:

      authctl login https://api.shop.example
      authctl login https://mcp.shop.example/mcp

    If the server lets clients register themselves, authctl offers to register.
    Otherwise, register a client there by hand, for a native application with the
    redirect URI http://127.0.0.1/callback, and name the server and the client:

      authctl login https://api.shop.example --issuer https://id.shop.example \\
        --client-id shop-cli --scope 'openid offline_access'

    For some products, a preset has the server's settings:

      authctl profile presets oauth

    Choose the grant with --grant. Without it, authctl uses the first of these that
    is possible, and says which:

      client-credentials   With a client secret or key, if there is no terminal.
      authorization-code   With a browser: $BROWSER, or the desktop's.
      device-code          With a code that you enter on any device. --no-browser
                           chooses it; --qr also shows its page as a QR code.
      authorization-code   With the address that your browser shows afterwards,
                           which you paste.

    The other grants are password, jwt-bearer and token-exchange. In cron and CI:

      authctl login shop --grant client-credentials --client-secret-file FILE
      authctl login shop --ci github --audience NAME

    A client secret can also come from AUTHCTL_CLIENT_SECRET. The session renews
    itself with the secret, or with its refresh token. A server may issue a refresh
    token only for the scope offline_access.

      authctl status -v                 the grant, and the scope that was granted
      authctl whoami                    what the server says about the account
      authctl whoami --offline --json   the claims of the ID token
      authctl token --id-token          the ID token itself
      authctl token --introspect        what the server says about the access token
      authctl logout                    revoke the tokens and delete the session

    If an API answers that a scope is missing, authctl prints the login command
    that requests it. A renewal never opens a browser: if the server refuses it,
    authctl exits with 11.

    With oauth.dpop=true, tokens are bound to a key of the session (RFC 9449). No
    other program can use them: token, exec and the helpers do not hand them out.

    authctl-profile(5) has all keys of [oauth].
    """,
    "pages": """
    authctl get --paginate: lists in pages

      authctl get /items --paginate                     each page as received
      authctl get /items --paginate --slurp             [page, page, ...]
      authctl get /items --paginate --each /data        one element per line
      authctl get /items --paginate --next /links/next  the next URL is in the body
      authctl get /items --paginate --next-cursor /meta/cursor=after

    --next and --next-cursor say where the next page is. Without them, authctl uses
    [pages] of the profile. Without that, it uses the header Link with rel=next, or
    @odata.nextLink, _links.next.href, or links.next of JSON:API in the body. If
    you or the profile name a place, authctl looks only there. A URL in a body can
    be relative to the page. If the value is null, false, empty or missing, the
    list ends.

    --slurp keeps all pages in memory and prints them at the end; the limit is
    256 MiB. Otherwise authctl keeps one page, of at most 64 MiB. --each also works
    with a single answer; its numbers keep their digits. -o writes all pages to one
    file, and -i prints the headers of each page.

    If a page fails, authctl prints the pages before it and exits with the code of
    the failure. It exits with 13 if the next page is at another origin, changes
    from https to http, or was already fetched. After a failure, --slurp and -o
    write nothing. With --each and --slurp, the failed answer goes to standard
    error.
    """,
    "retry": """
    authctl get --retry N: retry after a temporary failure

      authctl get /items --retry 3
      authctl get /items --retry 8 --retry-max-time 10m
      authctl put /items/1 --json @item.json --retry 3 --retry-all-methods
      authctl get /items --paginate --rate 20/s

    authctl retries GET and HEAD, and with --retry-all-methods all methods, after
    408, 429, 500, 502, 503 and 504 (also if --ok names them), and if the
    connection fails or no answer comes in time. It does not retry once it has
    printed a part of the answer. With -o, it writes the file again from the start.

    authctl waits as long as Retry-After says, otherwise 1, 2, 4 ... 60 seconds, up
    to a fifth more or less. If the server asks for more than 60 seconds, authctl
    does not retry. --retry-max-time permits longer waits, and no retry starts
    after that time. -m limits the total time: authctl does not start a wait that
    would exceed it.

    authctl never retries a sign-in or a renewal. The second request after a 401 is
    not a retry. --rate limits how often pages and retries start.
    """,
  ]
}
