/// More topics of `authctl help`. The manual page builds its lists from `exit-codes` and
/// `environment`: a name after two blanks, its text in a column of its own.
extension Topics {
  /// The topics by name, each with a summary.
  static let summaries = [
    ("ci", "CI, cron and containers: no terminal, no keyring"),
    ("environment", "environment variables"),
    ("exit-codes", "exit codes"),
    ("oauth", "sign in with OAuth 2.0 and OpenID Connect"),
    ("pages", "lists in pages: --paginate"),
    ("recipes", "how to describe your API"),
    ("retry", "retries and rate limits: --retry, --rate"),
  ]

  /// Returns the text of a topic; nil if there is no such topic.
  static func text(_ name: String) -> String? {
    switch name {
    case "environment": environment
    case "exit-codes": exitCodes
    case "recipes": recipes
    default: texts[name]
    }
  }

  private static let exitCodes = """
    Exit codes

      0            Success.
      1            Any other failure: a file, a stream, or a check that failed.
      2            The command line or a configuration file is wrong.
      3, 4, 5      The last HTTP answer was 3xx, 4xx or 5xx; --ok makes it 0.
      6            Too many redirects.
      7            Network: name not found, connection refused or reset, host
                   unreachable.
      8            TLS: certificate or handshake.
      9            A time limit was reached.
      10           Not signed in, or input is required and authctl must not ask.
      11           The session has expired or was refused, and authctl could not
                   renew it: sign in again.
      12           The secret store is locked or missing, or did not answer.
      13           authctl refused to send the credential to another origin, or
                   over plain HTTP.
      14           The server refused these credentials.
      15           authctl did not understand the answer to a sign-in. The error
                   lists the names in the answer and their types, no values.
      125          exec: authctl failed before it started the program. A refused
                   origin exits with 13, and a failed --login with its own code.
      126, 127     exec: the program is not executable, or was not found.
      128+N        Signal N ended authctl; 130 is Ctrl-C.

    If exec runs its program, it exits with the program's status. Of several
    results, the highest code counts. A 401 to a request with a credential is 11,
    after one renewal; with --anonymous it is 4.

    With --errors json or AUTHCTL_ERRORS=json, an error is one line of JSON on
    standard error. Its "code" is more specific than the exit code.
    """

  private static let environment = """
    Environment variables

    Settings; an option with the same meaning takes precedence:

      AUTHCTL_PROFILE           The profile: a name, or a file with a slash.
      AUTHCTL_URL               An API without a profile, or the origin of
                                AUTHCTL_TOKEN.
      AUTHCTL_USERNAME          The account.
      AUTHCTL_STORE             secret-service, file or plaintext.
      AUTHCTL_NO_INPUT          1: never ask; exit with 10 instead.
      AUTHCTL_TRUST             1: trust the profile's file, as --trust does.
      AUTHCTL_ERRORS            json: print errors as one line of JSON.

    Secrets. authctl removes them from the environment of programs that it starts,
    except for what exec passes on:

      AUTHCTL_PASSWORD          The password. AUTHCTL_OTP, AUTHCTL_CLIENT_SECRET,
                                AUTHCTL_APP_KEY and AUTHCTL_SUBJECT_TOKEN work
                                in the same way, and AUTHCTL_PROXY_USER, which
                                is not sent to a proxy that a file in place
                                names.
      AUTHCTL_TOKEN             An access token to use instead of a stored
                                session, for one origin: that of AUTHCTL_URL,
                                otherwise that of the profile from -p,
                                AUTHCTL_PROFILE or default_profile, otherwise
                                that of the only profile.
      AUTHCTL_TOKEN_FOR_NAME    An access token for the profile NAME. It takes
                                precedence. If it matches two profiles, it is
                                used for neither.
      AUTHCTL_TOKEN_FILE        A file with the token, read at each use.
      AUTHCTL_STORE_KEY_FILE    A file with the key of the store "file".
      AUTHCTL_STORE_PASSPHRASE  A passphrase for the store "file".
      CREDENTIALS_DIRECTORY     Set by systemd; its file authctl-store-key has
                                the key of the store "file".

    Folders:

      AUTHCTL_CONFIG_DIR        Profiles and config.toml; the default is authctl
                                in XDG_CONFIG_HOME or in ~/.config.
      AUTHCTL_STATE_DIR         Locks, trusted files and the store "file"; the
                                default is authctl in XDG_STATE_HOME or in
                                ~/.local/state.
      XDG_CACHE_HOME            Its folder authctl has paths for completion; the
                                default is ~/.cache.
      XDG_RUNTIME_DIR           The folder for exec --file.
      DBUS_SESSION_BUS_ADDRESS  The bus of the keyring; the default is the socket
                                /run/user/UID/bus.

    Variables of other programs:

      http_proxy, HTTPS_PROXY   Proxies; also ALL_PROXY and NO_PROXY.
      CURL_CA_BUNDLE            Trust only these authorities; also SSL_CERT_FILE
                                and SSL_CERT_DIR.
      NO_COLOR                  Use no colors. CLICOLOR=0: none on a terminal;
                                CLICOLOR_FORCE=1: always. --color takes
                                precedence.
      BROWSER                   The program that opens a URL for an OAuth
                                sign-in; the default is xdg-open.
      VISUAL, EDITOR            The editor of profile edit.
      PAGER                     The pager for help without a manual page, on a
                                terminal; the default is less.

    exec sets AUTHCTL_URL, AUTHCTL_PROFILE and AUTHCTL_TOKEN for its program, or
    what its options ask for; with --file AUTHCTL_TOKEN_FILE, BEARER_TOKEN_FILE and
    AUTHCTL_TOKEN_DIR. It removes other tokens from the environment.
    """

  private static let recipes = """
    How to describe your API

    A profile describes one API: where it is, how to sign in, and how to send
    requests. For most APIs, authctl has the settings:

      authctl login https://api.example.com     detect the settings, and ask
      authctl profile presets                   list the kinds of API
      authctl login URL --preset simplejwt      choose one
      authctl login --from-curl line.txt        use a copied curl command

    Otherwise, describe what is special; everything else has a default:

      --body JSON      the body of the sign-in, with {username} and {password}
      --form           the body is a form: --body 'user={username}&pw={password}'
      --token-at AT    where the answer has the token: /data/token (a JSON
                       Pointer), header:X-Token, cookie:sid, body
      --send HEADER    the header that carries the token: 'X-Token: {access_token}'
      --set KEY=VALUE  any other key: login.path=/auth, refresh.path=/refresh

      authctl profile add shop https://api.shop.example --set login.path=/auth \\
        --body '{"user":"{username}","pw":"{password}"}' --token-at /data/jwt

    Then check the result:

      authctl profile show shop --all    each value and where it comes from
      authctl profile check shop         every mistake, with line and column
      authctl login -p shop -v           what is sent and received, secrets masked

    If authctl does not understand the answer to a sign-in, it exits with 15 and
    lists the names in the answer and their types. Use them for --token-at.

    authctl-profile(5) has all keys, with examples: one-time codes, CSRF tokens,
    cookies, several headers, further origins.
    """
}
