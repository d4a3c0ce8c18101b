/// More topics of `authctl help`. The manual page builds its lists from `exit-codes` and
/// `environment`: a name after two blanks, its text in a column of its own.
extension Topics {
  /// The topics by name, each with a summary.
  static let summaries = [
    ("ci", "without terminal, desktop or keyring"),
    ("environment", "every variable that is read"),
    ("exit-codes", "what a script can tell by $?"),
    ("pages", "lists that come in pages: --paginate"),
    ("recipes", "how to tell authctl about your API"),
    ("retry", "what fails in passing: --retry, --rate"),
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
    Exit codes: what a script can tell by $?

      0            Done.
      1            Failed otherwise: a file, a stream; or a check said no.
      2            The command line or a configuration file is wrong.
      3, 4, 5      The last HTTP answer was 3xx, 4xx, 5xx; --ok makes it 0.
      6            Too many redirects.
      7            Network: name not found, refused, reset, unreachable.
      8            TLS: certificate or handshake.
      9            A time limit ran out.
      10           Not signed in, or input is needed and nobody may be asked.
      11           The session has expired or was refused, and could not be
                   renewed: sign in again.
      12           The secret store is locked, missing, or did not answer.
      13           Refused to send the credential there: another origin, or
                   clear http.
      14           The server refused these credentials.
      15           The answer to a sign-in was not understood; its shape is told,
                   names and types alone.
      125          exec: authctl failed before the program, except for 13 and
                   the code of a --login that failed.
      126, 127     exec: the program is not executable, or not found.
      128+N        Ended by signal N: 130 is Ctrl-C.

    exec ends with its program's own status. Of several results the highest code
    counts. A 401 with a credential is 11, after one renewal; --anonymous makes
    it 4.

    With --errors json, or AUTHCTL_ERRORS=json, the error is one line of JSON on
    standard error, and its "code" tells more than the number.
    """

  private static let environment = """
    Environment: every variable that is read

    What to work with; an option of the same meaning comes first:

      AUTHCTL_PROFILE           The profile: a name, or a file with a slash.
      AUTHCTL_URL               An API without a profile; the origin of
                                AUTHCTL_TOKEN.
      AUTHCTL_USERNAME          The account.
      AUTHCTL_STORE             secret-service, file or plaintext.
      AUTHCTL_NO_INPUT          1: never ask, end with 10 instead.
      AUTHCTL_TRUST             1: trust the profile's file, as --trust does.
      AUTHCTL_ERRORS            json: errors as one line of JSON.

    Secrets; never handed on to a program that authctl starts:

      AUTHCTL_PASSWORD          The password. Likewise AUTHCTL_OTP,
                                AUTHCTL_CLIENT_SECRET, AUTHCTL_APP_KEY and
                                AUTHCTL_PROXY_USER, which a proxy named by a
                                file in place does not get.
      AUTHCTL_TOKEN             An access token instead of a stored session, for
                                one origin: that of AUTHCTL_URL, else of the
                                profile that is named, default or the only one.
      AUTHCTL_TOKEN_FOR_NAME    The same for the profile NAME; comes first. A
                                name that fits two profiles serves neither.
      AUTHCTL_TOKEN_FILE        A file that holds the token, read at each use.
      AUTHCTL_STORE_KEY_FILE    The key of the store "file".
      AUTHCTL_STORE_PASSPHRASE  Its passphrase instead.
      CREDENTIALS_DIRECTORY     Of systemd: authctl-store-key in it is the key.

    Where things are:

      AUTHCTL_CONFIG_DIR        Profiles and config.toml; else authctl in
                                XDG_CONFIG_HOME, else ~/.config/authctl.
      AUTHCTL_STATE_DIR         Locks, trusted files and the store "file"; else
                                authctl in XDG_STATE_HOME, else
                                ~/.local/state/authctl.
      XDG_CACHE_HOME            The paths that completion offers are in authctl
                                there, else in ~/.cache/authctl.
      XDG_RUNTIME_DIR           The folder of exec --file.
      DBUS_SESSION_BUS_ADDRESS  The bus of the keyring; unset, the socket bus in
                                /run/user/UID.

    What other programs know too:

      http_proxy, HTTPS_PROXY   Proxies. Likewise ALL_PROXY and NO_PROXY.
      CURL_CA_BUNDLE            Authorities to trust, and no others. Likewise
                                SSL_CERT_FILE and SSL_CERT_DIR.
      NO_COLOR                  No colours. CLICOLOR=0: none on a terminal;
                                CLICOLOR_FORCE=1: always. --color beats them.
      PAGER                     Shows help that has no manual page on a terminal,
                                and nothing else (less).

    To the program that it runs, exec gives AUTHCTL_URL and AUTHCTL_PROFILE, and
    AUTHCTL_TOKEN or what its options ask for: with --file AUTHCTL_TOKEN_FILE,
    BEARER_TOKEN_FILE and AUTHCTL_TOKEN_DIR. Other tokens are taken out of its
    environment.
    """

  private static let recipes = """
    Recipes: how to tell authctl about your API

    A profile is one API: where it is, and how it wants to be spoken to. Most
    APIs need no recipe of yours:

      authctl login https://api.example.com     looks, tells what it found, asks
      authctl profile presets                   the kinds of API that are known
      authctl login URL --preset simplejwt      says which
      authctl login --from-curl line.txt        from a copied line of curl

    Otherwise say what you know; the rest has usual values:

      --body JSON      what is sent to sign in, with {username} and {password}
      --form           the body is a form: --body 'user={username}&pw={password}'
      --token-at AT    where the answer keeps the token: /data/token (a JSON
                       Pointer), header:X-Token, cookie:sid, body
      --send HEADER    how a request carries it: 'X-Token: {access_token}'
      --set KEY=VALUE  any other key: login.path=/auth, refresh.path=/refresh

      authctl profile add shop https://api.shop.example --set login.path=/auth \\
        --body '{"user":"{username}","pw":"{password}"}' --token-at /data/jwt

    Then look at what came of it:

      authctl profile show shop --all    each value, and where it is from
      authctl profile check shop         every mistake, with line and column
      authctl login -p shop -v           what is sent and answered, secrets masked

    A sign-in whose answer is not understood ends with 15 and prints the shape of
    the answer, names and types alone: what --token-at needs.

    One-time codes, CSRF tokens, cookies, several headers, further origins: all
    keys, with examples, are in authctl-profile(5).
    """
}
