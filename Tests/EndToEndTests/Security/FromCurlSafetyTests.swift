import Glibc
import Testing

/// `--from-curl` with lines that ask for more than is allowed, or are invalid.
@Suite struct FromCurlSafetyTests {
  private func folder(_ box: Sandbox) -> [String] {
    box.files().filter { $0.hasPrefix("config/authctl/profiles/") }
  }

  private func line(_ url: String, _ password: String = "a-password", _ more: String = "") -> String
  {
    "curl \(url) -d '{\"username\":\"ada\",\"password\":\"\(password)\"}'"
      + (more.isEmpty ? "" : " " + more)
  }

  private func tokens(_ box: Sandbox) throws -> Recorder {
    try box.recorder { _, _ in .http(200, #"{"token":"opaque-1"}"#) }
  }

  // MARK: Unsupported options and other addresses

  @Test func whatItExcludes() async throws {
    try await Sandbox.with { box in
      let api = try tokens(box)
      let file = try box.write("copied.txt", line(api.url + "/login"))
      try box.profile("old", "url = \"https://old.example\"\n")
      let body = #"{"u":"{username}","p":"{password}"}"#
      for more in [["--preset", "json"], ["--body", body], ["--form"]] {
        for command in [["login"], ["login", api.url], ["profile", "add", "shop", api.url]] {
          let run = try await box.run(command + ["--from-curl", file] + more)
          #expect(run.status == 2 && run.stdout == "", "\(command + more): \(run.stderr)")
          #expect(
            run.stderr
              == "authctl: --from-curl and --preset, --body or --form cannot be used together\n")
        }
      }
      let like = try await box.run(
        "profile", "add", "shop", "--like", "old", "--from-curl", file)
      #expect(like.status == 2 && like.stdout == "", "\(like.stderr)")
      #expect(api.connections.isEmpty)
      #expect(folder(box) == ["config/authctl/profiles/old.toml"])
    }
  }

  @Test func itIsForItsOwnOrigin() async throws {
    try await Sandbox.with { box in
      let (api, other) = (try tokens(box), try tokens(box))
      let password = box.canary.make("password")
      let file = try box.write("copied.txt", line(api.url + "/login", password))
      for url in [
        other.url, "http://localhost:\(api.port)", "https://127.0.0.1:\(api.port)",
        "http://127.0.0.2:\(api.port)", "https://api.shop.example/login",
      ] {
        for command in [["login", url], ["profile", "add", "shop", url]] {
          let run = try await box.run(command + ["--from-curl", file])
          #expect(run.status == 2 && run.stdout == "", "\(run.stderr)")
          #expect(run.stderr.contains("authctl: the curl command is for \(api.url), not for "))
        }
      }
      try box.profile("far", "url = \"\(other.url)\"\npreset = \"json\"\n")
      let named = try await box.run("login", "-p", "far", "--from-curl", file)
      #expect(named.status == 2 && named.stdout == "", "\(named.stderr)")
      #expect(api.connections.isEmpty && other.connections.isEmpty)
      #expect(folder(box) == ["config/authctl/profiles/far.toml"])
    }
  }

  /// Whatever URL is given with the line, the profile signs in at the line's /v1/login.
  @Test(arguments: ["", "/", "/v1", "/v1/", "/v1/login", "/v2"])
  func signsInWhereTheLineSays(given: String) async throws {
    try await Sandbox.with { box in
      let api = try tokens(box)
      let file = try box.write("copied.txt", line(api.url + "/v1/login"))
      let run = try await box.run("login", api.url + given, "-p", "one", "--from-curl", file)
      #expect(run.status == 0, "\(run.stderr)")
      let add = try await box.run("profile", "add", "two", api.url + given, "--from-curl", file)
      #expect(add.status == 0, "\(add.stderr)")
      let login = try await box.run(
        "login", "-p", "two", "-u", "ada", "--password-stdin", stdin: "a-password\n")
      #expect(login.status == 0, "\(login.stderr)")
      #expect(Look.asked(api) == ["POST /v1/login", "POST /v1/login"])
    }
  }

  @Test func settingsBesideIt() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder { _, _ in .http(200, #"{"a":{"b":"opaque-1"}}"#) }
      let file = try box.write("copied.txt", line(api.url + "/login"))
      let run = try await box.run(
        "login", "--from-curl", file, "-p", "shop", "--token-at", "/a/b", "--send",
        "X-Token: {access_token}", "--set", "login.path=/other")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(Look.asked(api) == ["POST /other"])
      _ = try await box.run("get", "-p", "shop", "/x")
      #expect(api.texts.last?.contains("\r\nX-Token: opaque-1\r\n") == true)
      // A line does not change an existing profile with other settings.
      let other = try box.write("other.txt", line(api.url + "/elsewhere"))
      let again = try await box.run("login", "--from-curl", other, "-p", "shop")
      #expect(again.status == 2 && again.stdout == "", "\(again.stderr)")
      #expect(again.stderr.contains("shop"))
      #expect(api.connections.count == 2)
    }
  }

  // MARK: Headers and fields that are dropped

  @Test func optionsThatNoRecipeHasAreNamed() async throws {
    try await Sandbox.with { box in
      let (api, secret) = (try tokens(box), box.canary.make("proxy"))
      let more =
        "-x http://u:\(secret)@p.example:3128 --resolve h:1:127.0.0.1 --frobnicate "
        + "--cert \(secret).pem --noproxy '*' --compressed -s -i --max-time 3 -b jar=\(secret)"
      let file = try box.write("copied.txt", line(api.url + "/login", "a-password", more))
      let run = try await box.run("login", "--from-curl", file)
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      let told = run.stderr.replacing("\n", with: " ")
      let names = "left out: -x, --resolve, --frobnicate, --cert, --noproxy"
      #expect(told.contains(names), "\(run.stderr)")
      for quiet in ["--compressed", "--max-time", "-i"] { #expect(!told.contains(" \(quiet)")) }
      #expect(folder(box).count == 1)
      let text = try #require(box.read(folder(box)[0]))
      for word in ["proxy", "network", "cert", "jar"] { #expect(!text.contains(word), "\(text)") }
    }
  }

  /// A header that contains a secret, and the placeholder that asks for it from now on, if any.
  static let headers: [(name: String, asked: String?)] = [
    ("Cookie", nil), ("Authorization: Bearer", nil), ("X-CSRF-Token", nil), ("X-XSRF-TOKEN", nil),
    ("X-Auth-Token", nil), ("X-Access-Token", nil), ("X-Session-Token", nil),
    ("Proxy-Authorization: Basic", nil), ("X-Api-Key", "{app_key}"), ("apikey", "{app_key}"),
    ("X-Parse-Application-Secret", "{app_key}"), ("X-Client-Secret", "{client_secret}"),
  ]

  @Test(arguments: headers) func secretHeaders(name: String, asked: String?) async throws {
    try await Sandbox.with { box in
      let (api, secret) = (try tokens(box), box.canary.make("header"))
      let header = name.contains(":") ? "\(name) \(secret)" : "\(name): \(secret)"
      let more = "-H 'Content-Type: application/json' -H '\(header)'"
      let file = try box.write("copied.txt", line(api.url + "/login", "a-password", more))
      let add = try await box.run("profile", "add", "shop", "--from-curl", file)
      #expect(add.status == 0 && add.stdout == "", "\(add.stderr)")
      let shown = name.prefix { $0 != ":" }
      #expect(add.stderr.lowercased().contains(shown.lowercased()), "\(add.stderr)")
      let text = try #require(box.read("config/authctl/profiles/shop.toml"))
      #expect(text.contains(asked ?? "{app_key}") == (asked != nil), "\(text)")
      #expect(!text.contains("Bearer") && !text.contains("Basic"), "\(text)")
      // The canary searches for the value in all output and files.
      let login = try await box.run("login", "--from-curl", file, "-p", "shop")
      let isAsked = asked == "{app_key}"
      #expect(login.status == (isAsked ? 10 : asked == nil ? 0 : login.status), "\(login.stderr)")
      #expect(Scene.holds(api, [secret]) == [])
    }
  }

  @Test func secretsBesideThePassword() async throws {
    try await Sandbox.with { box in
      let (password, other) = (box.canary.make("password"), box.canary.make("token"))
      let api = try tokens(box)
      let text = """
        curl '\(api.url)/login?session_token=\(other)' -H 'Content-Type: application/json' \
        --data-raw '{"username":"ada","password":"\(password)","hash":"x-\(password)-x",\
        "csrf_token":"\(other)","access_token":"\(other)","captcha":"\(other)",\
        "deep":[{"password":"\(password)","refresh_token":"\(other)"}]}'
        """
      let file = try box.write("copied.txt", text)
      let run = try await box.run("login", "--from-curl", file)
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(Scene.holds(api, [password, other]) == [password])
      let sent = try JSON(parsing: Look.body(api.texts.last))
      #expect(sent["password"] == .string(password) && sent["username"] == "ada")
      #expect(sent["csrf_token"] == nil && sent["access_token"] == nil)
    }
  }

  /// A second password of any name: it is dropped, or the line is refused.
  @Test(arguments: [
    "old_password", "new_password", "current_password", "password_old", "passwordNew", "old_pwd",
    "previous-password", "password_confirmation",
  ])
  func otherPasswordsAreNotKept(name: String) async throws {
    try await Sandbox.with(.none) { box in
      for value in ["two-2", "twotwotwo-2", "Zw3i!"] {
        let text =
          "curl http://127.0.0.1:1/login --data-urlencode 'password=one-1-one' "
          + "-d user=ada --data-urlencode '\(name)=\(value)'"
        let run = try await box.run(
          "profile", "add", "shop", "--replace", "--from-curl", "-", stdin: text)
        #expect(run.stdout == "" && !run.stderr.contains(value), "\(run.stderr)")
        let profile = box.read("config/authctl/profiles/shop.toml")
        #expect([0, 2].contains(run.status) && (run.status == 0) == (profile != nil))
        for secret in [value, "one-1"] {
          #expect(profile?.contains(secret) != true, "\(profile ?? "")")
        }
      }
    }
  }

  // MARK: Invalid lines

  /// Text instead of a line, and the start of the message; `URL` is the API's.
  static let mistakes: [(text: String, said: String)] = [
    ("", "there is no curl command"), ("\n \n", "there is no curl command"),
    ("wget http://h.example/login", "the command does not begin with curl"),
    ("rm -rf /", "the command does not begin with curl"),
    ("curl", "the curl command has no URL"),
    ("curl -d 'username=ada&password=pw-1'", "the curl command has no URL"),
    ("curl URL/login", "the curl command sends no user name and no password"),
    ("curl URL/login -d 'a=1&b=2'", "no field of the curl command looks like a password: a, b"),
    (
      "curl URL/login -d 'user=ada&password=one-1&user_password=two-2'",
      "the curl command has several passwords: password, user_password"
    ),
    ("curl URL/login -d @body.json", "-d: authctl does not read the files of"),
    ("curl URL/login --data-binary @-", "--data-binary: authctl does not read the files of"),
    ("curl URL/login -T body.json", "-T: "), ("curl -K config", ""), ("curl URL/login -d", ""),
    ("curl URL/login -u ada:pw-1 --digest", "the curl command's --digest is not supported"),
    ("curl 'URL/login -d a=b", ""), ("curl ftp://h.example/login -d 'user=a&password=pw-1'", ""),
    ("curl 'URL/login' -d '{\"user\":\"ada\",\"password\":'", ""),
    ("curl 'URL/login' -d '[{\"user\":\"ada\",\"password\":\"pw-1\"}]'", ""),
    ("curl 'URL/a' 'URL/b' -d 'user=a&password=pw-1'", "the curl command has 2 URLs"),
  ]

  @Test func whatIsNoLine() async throws {
    try await Sandbox.with { box in
      let api = try tokens(box)
      for (text, said) in Self.mistakes {
        let file = try box.write("copied.txt", text.replacing("URL", with: api.url))
        for command in [["login"], ["profile", "add", "shop"]] {
          let run = try await box.run(command + ["--from-curl", file])
          #expect(run.status == 2 && run.stdout == "", "\(text): \(run.stderr)")
          #expect(run.stderr.hasPrefix("authctl: " + said), "\(text): \(run.stderr)")
          #expect(!run.stderr.contains("pw-1") && !run.stderr.contains("-2"), "\(run.stderr)")
        }
      }
      #expect(api.connections.isEmpty)
      #expect(folder(box) == [])
    }
  }

  /// Nothing in a line is executed, expanded or opened, and control characters do not reach the
  /// terminal.
  @Test func nothingOfALineIsRun() async throws {
    try await Sandbox.with { box in
      let api = try tokens(box)
      let trap = box.root + "/trap"
      let more = [
        "$(touch \(trap))", "`touch \(trap)`", "; touch \(trap)", "&& touch \(trap)",
        "| tee \(trap)", "> \(trap)", "< /etc/passwd", "\"$(touch \(trap))\"", "-o \(trap)",
        "--trace \(trap)", "-c \(trap)", "-D \(trap)", "\n touch \(trap)", "& touch \(trap)",
        "-K /etc/passwd", "-H @/etc/passwd", "-F a=@/etc/passwd", "-F 'a=</etc/passwd'",
        "--data-urlencode a@/etc/passwd", "--json @/etc/passwd", "-b /etc/passwd",
        "-H \"X-Home: $HOME\"", "--variable %HOME --expand-data {{HOME}}",
        "-H $'X-A: \\e[2J\\nhint: x'", "--\u{1B}[2J", "-H 'hint: x' --next curl",
      ]
      for text in more {
        let file = try box.write("copied.txt", line(api.url + "/login", "a-password", text))
        let run = try await box.run("login", "--from-curl", file, "-p", "shop")
        #expect([0, 2].contains(run.status) && run.stdout == "", "\(text): \(run.stderr)")
        #expect(!run.stderr.contains("\u{1B}"), "\(text): \(run.stderr.debugDescription)")
        for line in run.stderr.split(separator: "\n") where line.hasPrefix("hint: ") {
          #expect(run.status == 2, "\(text): \(line)")
        }
        for request in api.texts {
          #expect(!request.contains("root:") && !request.contains(box.home), "\(text): \(request)")
        }
        unlink(box.root + "/config/authctl/profiles/shop.toml")
        // A sign-in that succeeds makes its profile the default.
        let left = box.files().filter {
          !$0.hasPrefix("state/") && $0 != "config/authctl/config.toml"
        }
        #expect(left == ["copied.txt"], "\(text): \(left)")
      }
    }
  }

  @Test func filesThatCannotBeRead() async throws {
    try await Sandbox.with(.none) { box in
      let big = try box.write("big", "curl " + String(repeating: "x", count: 70_000))
      for (words, status, said) in [
        (["--from-curl", "/nowhere/x"], 1, "--from-curl: cannot read /nowhere/x: no such file"),
        (["--from-curl", box.home], 1, "--from-curl: cannot read "),
        (["--from-curl", big], 2, "--from-curl: \(big) is larger than 64 KiB"),
        (["--from-curl"], 2, ""), (["--from-curl", ""], 1, ""),
        // A password must not be on a command line.
        (["--from-curl", "curl http://127.0.0.1:1 -u ada:pw"], 1, "--from-curl: cannot read "),
      ] as [([String], Int32, String)] {
        let run = try await box.run(["login"] + words)
        #expect(run.status == status && run.stdout == "", "\(words): \(run.stderr)")
        #expect(run.stderr.hasPrefix("authctl: " + said), "\(run.stderr)")
      }
      let bytes = try await box.run(
        "-c", #"printf 'curl x\377 -u a:b' | "$0" login --from-curl -"#, try Built.authctl(),
        program: "/bin/sh")
      #expect(bytes.status == 2)
      #expect(bytes.stderr == "authctl: --from-curl: - is not UTF-8\n")
    }
  }
}
