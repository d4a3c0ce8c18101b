import Glibc
import Testing

/// `--from-curl`: a line copied from a browser or a wiki becomes the recipe; its password is used
/// once.
@Suite struct FromCurlTests {
  private static let account = "ada@shop.example"

  /// A line as a program writes it, and the request that authctl sends for it.
  struct Copy: Sendable, CustomTestStringConvertible {
    var testDescription: String
    /// Added to the password that `canary` makes.
    var suffix = ""
    var line: @Sendable (_ url: String, _ password: String, _ cookie: String) -> String
    /// Method and path.
    var request = "POST /api/auth/login"
    /// Header lines that authctl sends too.
    var headers: [String] = []
    var body: @Sendable (_ password: String) -> String
  }

  static let copies = [
    Copy(
      testDescription: "Chrome", suffix: "'!\u{E9}",
      line: { url, password, cookie in
        let quoted = password.replacing("'", with: "\\'").replacing("!", with: "\\u0021")
          .replacing("\u{E9}", with: "\\u00e9")
        return #"""
          curl '\#(url)/api/auth/login' \
            -H 'Accept: application/json, text/plain, */*' \
            -H 'Accept-Language: en-US,en;q=0.9' \
            -H 'Cache-Control: no-cache' \
            -H 'Connection: keep-alive' \
            -H 'Content-Type: application/json' \
            -b 'theme=dark; sid=\#(cookie)' \
            -H 'Origin: \#(url)' \
            -H 'Referer: \#(url)/sign-in' \
            -H 'Sec-Fetch-Dest: empty' \
            -H 'Sec-Fetch-Mode: cors' \
            -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36' \
            -H 'X-Requested-With: XMLHttpRequest' \
            -H 'sec-ch-ua: "Chromium";v="131", "Not_A Brand";v="24"' \
            -H 'sec-ch-ua-mobile: ?0' \
            --data-raw $'{"email":"\#(account)","password":"\#(quoted)","remember":true}' \
            --insecure

          """#
      },
      headers: [
        "Accept: application/json, text/plain, */*", "Content-Type: application/json",
        "X-Requested-With: XMLHttpRequest",
      ],
      body: { #"{"email":"\#(account)","password":"\#($0)","remember":true}"# }),
    Copy(
      testDescription: "Firefox",
      line: { url, password, cookie in
        "curl '\(url)/api/auth/login' --compressed -X POST -H 'User-Agent: Mozilla/5.0 (X11; "
          + "Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0' -H 'Accept: */*' -H "
          + "'Accept-Language: en-US,en;q=0.5' -H 'Accept-Encoding: gzip, deflate, br, zstd' -H "
          + "'Content-Type: application/x-www-form-urlencoded; charset=UTF-8' -H 'Origin: \(url)' "
          + "-H 'Connection: keep-alive' -H 'Referer: \(url)/login' -H 'Cookie: sid=\(cookie)' "
          + "-H 'Sec-GPC: 1' -H 'Priority: u=0' --data-raw 'user%5Bemail%5D=ada%40shop.example"
          + "&user%5Bpassword%5D=\(password)&commit=Log+in'"
      },
      body: {
        "user%5Bemail%5D=ada%40shop.example&user%5Bpassword%5D=\($0)&commit=Log%20in"
      }),
    Copy(
      testDescription: "Safari",
      line: { url, password, cookie in
        """
        curl '\(url)/api/auth/login' \\
        -X 'PUT' \\
        -H 'Accept: */*' \\
        -H 'Content-Type: application/json' \\
        -H 'Origin: \(url)' \\
        -H 'Content-Length: 94' \\
        -H 'Cookie: sid=\(cookie)' \\
        -H 'User-Agent: Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Version/17.6 Safari/605.1.15' \\
        --data-binary '{"user":{"login":"\(account)","pwd":"\(password)"},"device":{"kind":"web"}}'
        """
      }, request: "PUT /api/auth/login", headers: ["Content-Type: application/json"],
      body: { #"{"user":{"login":"\#(account)","pwd":"\#($0)"},"device":{"kind":"web"}}"# }),
    Copy(
      testDescription: "a wiki",
      line: { url, password, _ in
        "$ curl -sS --max-time 5 -d user=\(account) -d \"pass=\(password)\" -d scope=all \\\n"
          + "    \"\(url)/api/auth/login?v=2\" | jq -r .token\n"
      }, request: "POST /api/auth/login?v=2",
      body: { "user=ada%40shop.example&pass=\($0)&scope=all" }),
    Copy(
      testDescription: "-u",
      line: { url, password, cookie in
        "curl -X POST -u '\(account):\(password)' -H 'Cookie: sid=\(cookie)' "
          + "\(url)/api/auth/login"
      }, body: { _ in "" }),
  ]

  private func tokens(_ box: Sandbox) throws -> Recorder {
    try box.recorder { _, request in
      let text = String(decoding: request, as: UTF8.self)
      return text.hasPrefix("GET ") ? .http(404) : .http(200, #"{"token":"opaque-1"}"#)
    }
  }

  private static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]

  private func profile(_ box: Sandbox, _ name: String) -> String? {
    box.read("home/.config/authctl/profiles/\(name).toml")
  }

  private func folder(_ box: Sandbox) -> [String] {
    box.files().filter { $0.hasPrefix("home/.config/") }
  }

  /// Expects that the last request is the one of `copy` with `password`.
  private func expectSent(
    _ api: Recorder, _ copy: Copy, _ password: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let text = api.texts.last ?? ""
    #expect(
      text.hasPrefix(copy.request + " HTTP/1.1\r\n"), "\(text)", sourceLocation: sourceLocation)
    for header in copy.headers {
      #expect(text.contains("\r\n\(header)\r\n"), "\(text)", sourceLocation: sourceLocation)
    }
    for name in ["Cookie", "Origin", "Referer", "Sec-", "sec-", "Priority", "Cache-Control"] {
      #expect(!text.contains("\r\n" + name), "\(text)", sourceLocation: sourceLocation)
    }
    #expect(!text.contains("Mozilla"), sourceLocation: sourceLocation)
    let body = Look.body(text).replacing("+", with: "%20")
    #expect(body == copy.body(password), sourceLocation: sourceLocation)
  }

  // MARK: Signing in

  @Test(arguments: copies) func signsInOnceAndKeepsTheRecipe(_ copy: Copy) async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password", suffix: copy.suffix)
      let cookie = box.canary.make("cookie")
      let api = try tokens(box)
      let file = try box.write("copied.txt", copy.line(api.url, password, cookie))
      let run = try await box.run("login", "--from-curl", file, env: Self.home)
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(
        run.stderr.contains("Signed in to \(api.profileName) as \(Self.account)."), "\(run.stderr)")
      #expect(Look.asked(api) == [copy.request])
      expectSent(api, copy, password)
      #expect(Scene.holds(api, [cookie]) == [])

      let text = try #require(profile(box, api.profileName))
      #expect(text.hasPrefix("url = \"\(api.url)\"\n"))
      #expect(text.contains("account = \"\(Self.account)\"\n"))
      let rest = text.split(separator: "\n").filter { !$0.hasPrefix("account = ") }
      for word in [
        password, cookie, "ada", "Mozilla", "Cookie", "Content-Length", "Origin", "sec-",
      ] {
        #expect(!rest.contains { $0.contains(word) }, "\(text)")
      }
      // The password is not stored: the next sign-in asks for it.
      let again = try await box.run("login", "-p", api.profileName, env: Self.home)
      #expect(again.status == 10 && again.stdout == "")
      #expect(
        again.stderr == """
          authctl: a password is required, but authctl cannot ask here
          hint: use --password-stdin, --password-file F, --password-command C or AUTHCTL_PASSWORD

          """)
      #expect(api.connections.count == 1)
      let stored = try await box.items().compactMap(\.secret)
      #expect(stored.count == 1 && !stored.contains { $0.contains(password) })
      let other = try await box.run(
        "login", "-p", api.profileName, "--password-stdin", stdin: "another-one\n", env: Self.home)
      #expect(other.status == 0, "\(other.stderr)")
      expectSent(api, copy, "another-one")
    }
  }

  @Test(arguments: copies) func addMakesTheSameProfile(_ copy: Copy) async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password", suffix: copy.suffix)
      let api = try tokens(box)
      let line = copy.line(api.url, password, box.canary.make("cookie"))
      let run = try await box.run(
        "profile", "add", "shop", "--from-curl", "-", stdin: line, env: Self.home)
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(
        run.stderr.hasSuffix(
          "\nCreated the profile shop: ~/.config/authctl/profiles/shop.toml\n"
            + "Next: authctl login -p shop\n"))
      #expect(api.connections.isEmpty)
      let text = try #require(profile(box, "shop"))
      #expect(!text.contains("ada") && !text.contains("account"))
      let none = try await box.run("login", "-p", "shop", env: Self.home)
      #expect(none.status == 10 && api.connections.isEmpty)
      let login = try await box.run(
        "login", "-p", "shop", "-u", Self.account, "--password-stdin", stdin: "another-one\n",
        env: Self.home)
      #expect(login.status == 0, "\(login.stderr)")
      expectSent(api, copy, "another-one")
    }
  }

  @Test func aPasswordThatIsGivenGoesBefore() async throws {
    try await Sandbox.with { box in
      let (password, api) = (box.canary.make("password"), try tokens(box))
      let copy = Self.copies[2]
      let file = try box.write("copied.txt", copy.line(api.url, password, "c"))
      let run = try await box.run(
        "login", "--from-curl", file, "--password-stdin", stdin: "another-one\n", env: Self.home)
      #expect(run.status == 0, "\(run.stderr)")
      expectSent(api, copy, "another-one")
      // Standard input is either the curl line or the password.
      let both = try await box.run(
        "login", "--from-curl", "-", "--password-stdin", stdin: copy.line(api.url, password, "c"),
        env: Self.home)
      #expect([2, 10].contains(both.status) && both.stdout == "", "\(both.stderr)")
      #expect(api.connections.count == 1)
    }
  }

  @Test func aRefusedPasswordIsNotKept() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let api = try box.recorder { _, _ in .http(401, #"{"message":"wrong"}"#) }
      let file = try box.write("copied.txt", Self.copies[1].line(api.url, password, "c"))
      let run = try await box.run("login", "--from-curl", file, env: Self.home)
      #expect(run.status == 14 && run.stdout == "")
      #expect(run.stderr.contains("\nserver: wrong\n"), "\(run.stderr)")
      #expect(profile(box, api.profileName) == nil)
      #expect(try await box.items().isEmpty)
    }
  }

  // MARK: On a terminal

  @Test func isShownAndAskedBack() async throws {
    try await Sandbox.with { box in
      let (password, cookie) = (box.canary.make("password"), box.canary.make("cookie"))
      let (api, copy) = (try tokens(box), Self.copies[0])
      let file = try box.write("copied.txt", copy.line(api.url, password, cookie))
      let no = try await box.terminal(
        ["login", "--from-curl", file], answers: [("Use it? [Y/n] ", "n\n")], env: Self.home)
      #expect(no.status == 10)
      #expect(
        no.screen.contains("\nauthctl: the curl command was not used\nhint: "), "\(no.screen)")
      #expect(api.connections.isEmpty && folder(box) == [])
      let add = try await box.terminal(
        ["profile", "add", "shop", "--from-curl", file], answers: [("Use it? [Y/n] ", "n\n")],
        env: Self.home)
      #expect(add.status == 10 && folder(box) == [])
      // The line may come through a pipe; the answer is read from the terminal.
      let yes = try await box.terminal(
        ["-c", "\"$0\" login --from-curl - <\"$1\"", try Built.authctl(), file],
        answers: [("Use it? [Y/n] ", "y\n")], env: Self.home, program: "/bin/sh")
      #expect(yes.status == 0, "\(yes.screen)")
      #expect(yes.screen.hasPrefix("Signs in with POST \(api.url)/api/auth/login\n"))
      let shown = yes.screen.replacing("\n", with: " ")
      for line in [
        #"{"email":"{username}","password":"{password}","remember":true}"#,
        "Account: \(Self.account)", #""X-Requested-With":"XMLHttpRequest""#,
        "cookies were left out: authctl keeps its own",
        "--insecure was left out: certificates are always checked",
      ] {
        #expect(shown.contains(line), "\(yes.screen)")
      }
      #expect(!yes.screen.contains("Password for"))
      expectSent(api, copy, password)
    }
  }

  @Test func fieldsOfUnknownNamesAreAskedFor() async throws {
    try await Sandbox.with { box in
      let (password, api) = (box.canary.make("password"), try tokens(box))
      let file = try box.write(
        "copied.txt", "curl \(api.url)/in --json '{\"wer\":\"ada\",\"kode\":\"\(password)\"}'")
      let run = try await box.run("login", "--from-curl", file, env: Self.home)
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: no field of the curl command looks like a password: wer, kode
          hint: authctl login URL --body '{"FIELD":"{username}","FIELD":"{password}"}'

          """)
      let asked = try await box.terminal(
        ["login", "--from-curl", file],
        answers: [
          ("Which field holds the password (wer, kode): ", "kode\n"),
          ("Which field holds the user name (wer): ", "wer\n"), ("Use it? [Y/n] ", "y\n"),
        ], env: Self.home)
      #expect(asked.status == 0, "\(asked.screen)")
      #expect(
        api.texts.last?.hasSuffix(#"{"wer":"ada","kode":"\#(password)"}"#) == true,
        "\(api.texts)")
      #expect(profile(box, api.profileName)?.contains(#"kode = "{password}""#) == true)
    }
  }

  @Test func nobodyIsAskedWhereNobodyMayBe() async throws {
    try await Sandbox.with { box in
      let api = try tokens(box)
      let file = try box.write("copied.txt", Self.copies[2].line(api.url, "a-password", "c"))
      let run = try await box.terminal(
        ["login", "--from-curl", file, "--no-input"], env: Self.home)
      #expect(run.status == 0, "\(run.screen)")
      #expect(!run.screen.contains("Use it?"))
    }
  }
}
