import Testing

/// Credential helper protocols of other programs (design 9, rules A5 and A16).
@Suite struct HelperTests {
  /// Runs `body` with ada signed in to DemoAPI through the profile `shop`.
  private func with(_ body: (Sandbox, Shop, String) async throws -> Void) async throws {
    try await Shop.with("--token-ttl", "3600") { shop, api in
      let token = try #require(try await shop.payload()["values"]?["access_token"]?.string)
      let authority = String(api.url.dropFirst("http://".count))
      try await body(shop.box, shop, token + "\n" + authority)
    }
  }

  private func split(_ text: String) -> (token: String, authority: String) {
    let parts = text.split(separator: "\n").map(String.init)
    return (parts[0], parts[1])
  }

  @Test func git() async throws {
    try await with { box, _, given in
      let (token, host) = split(given)
      let asked = "protocol=http\nhost=\(host)\npath=team/repo.git\n\n"
      let run = try await box.run("helper", "git", "get", stdin: asked, mayPrint: [token])
      #expect(run.status == 0 && run.stderr == "")
      let lines = run.stdout.split(separator: "\n").map(String.init)
      #expect(lines.prefix(2) == ["username=ada@example.com", "password=\(token)"])
      #expect(lines.count == 3 && lines[2].hasPrefix("password_expiry_utc="))
      let new = try await box.run(
        "helper", "git", "get", stdin: "capability[]=authtype\n" + asked, mayPrint: [token])
      #expect(
        new.stdout.hasPrefix("capability[]=authtype\nauthtype=Bearer\ncredential=\(token)\n"))
      for operation in ["store", "erase"] {
        let stored = try await box.run(
          "helper", "git", operation, stdin: asked + "username=x\npassword=planted-password\n")
        #expect(stored.status == 0 && stored.stdout == "" && stored.stderr == "")
      }
      #expect(try await box.run("get", "-p", "shop", "/me").status == 0, "erase ends no session")
    }
  }

  /// For other hosts and malformed input the helper prints nothing and exits with 0, so that git
  /// continues.
  @Test func gitAsksForAnother() async throws {
    try await with { box, _, given in
      let (_, host) = split(given)
      let port = host.split(separator: ":")[1]
      for asked in [
        "protocol=https\nhost=\(host)\n\n", "protocol=http\nhost=evil.example\n\n",
        "protocol=http\nhost=127.0.0.2:\(port)\n\n", "protocol=http\nhost=localhost:\(port)\n\n",
        "protocol=http\nhost=\(host).evil.example\n\n", "protocol=http\nhost=127.0.0.1\n\n",
        "protocol=http\nhost=\n\n", "protocol=http\n\n", "host=\(host)\n\n", "\n", "",
        "protocol=http\nhost=\(host)\nhost=\(host)\n\n",
        "protocol=http\nprotocol=http\nhost=\(host)\n\n",
        "protocol=http\nhost=\(host)\r\n\n", "protocol=http\nhost=\(host)\u{0}\n\n",
        "protocol=ftp\nhost=\(host)\n\n", "protocol=http\nhost=\(host)\nusername=bob\n\n",
        "protocol=http\nhost=x@\(host)\n\n", "protocol=http\nhost=\(host)\\@evil.example\n\n",
        String(repeating: "a=b\n", count: 20_000) + "protocol=http\nhost=\(host)\n\n",
      ] {
        let run = try await box.run("helper", "git", "get", stdin: asked)
        #expect(run.status == 0 && run.stdout == "", "\(asked.prefix(80)): \(run.stdout)")
      }
    }
  }

  /// A URL whose host another parser could read differently is not normalised to match (rule A16).
  @Test func onlyTheOriginAsItIsWrittenIsAnswered() async throws {
    try await with { box, _, given in
      let (token, authority) = split(given)
      let port = authority.split(separator: ":")[1]
      let hosts = [
        "\(authority)/evil", "\(authority)/", "\(authority)?x", "\(authority)#x", "127.1:\(port)",
        "0x7f000001:\(port)", "0x7f.0.0.1:\(port)", "2130706433:\(port)", "0177.0.0.1:\(port)",
        "\u{FF11}\u{FF12}\u{FF17}.0.0.1:\(port)", "\u{2460}27.1:\(port)",
        "\u{FEFF}\(authority)", "127.0.0.1\u{3002}:\(port)", "127.0.0.1.:\(port)",
        "127.0.0.1:0\(port)", "127.0.0.1:+\(port)", "x@\(authority)", " \(authority)",
        "\(authority) ", "%31\(authority.dropFirst())", "\(authority)\\", "/\(authority)",
      ]
      for host in hosts {
        let git = try await box.run(
          "helper", "git", "get", stdin: "protocol=http\nhost=\(host)\n\n")
        #expect(git.status == 0 && git.stdout == "" && git.stderr == "", "\(host)")
      }
      let urls =
        hosts.filter { !$0.hasPrefix("\(authority)/") }.map { "http://" + $0 }
        + [
          "HTTP://\(authority)", "http:/\(authority)", "http:///\(authority)", "http:\(authority)",
        ]
      for url in urls {
        for docker in [url, url + "/v2/"] {
          let run = try await box.run("helper", "docker", "get", stdin: docker)
          #expect(run.status == 1 && run.stderr == "", "\(docker)")
          #expect(run.stdout == "credentials not found in native keychain\n", "\(docker)")
        }
        let uri = JSON.string(url + "/").text
        let bazel = try await box.run("helper", "bazel", "get", stdin: #"{"uri":\#(uri)}"#)
        #expect(bazel.status == 0 && bazel.stderr == "", "\(url)")
        #expect(bazel.stdout == "{\"headers\":{}}\n", "\(url)")
        let index = JSON.string("sparse+\(url)/").text
        let cargo = try await box.run(
          "helper", "cargo", "--cargo-plugin",
          stdin: #"{"v":1,"registry":{"index-url":\#(index)},"kind":"get"}"# + "\n")
        #expect(cargo.status == 0 && cargo.stderr == "", "\(url)")
        #expect(
          cargo.stdout == "{\"v\":[1]}\n{\"Err\":{\"kind\":\"not-found\"}}\n", "\(url)")
        let info = JSON.object(["spec": ["cluster": ["server": .string(url)]]]).text
        let kubectl = try await box.run(
          "helper", "kubectl", "-p", "shop", env: ["KUBERNETES_EXEC_INFO": info])
        #expect(kubectl.status == 13 && kubectl.stdout == "", "\(url)")
        let curl = try await box.run("helper", "curl-config", "-p", "shop", url + "/me")
        #expect([2, 13].contains(curl.status) && curl.stdout == "", "\(url)")
      }
      // A path belongs to the origin.
      let docker = try await box.run(
        "helper", "docker", "get", stdin: "http://\(authority)/v2/", mayPrint: [token])
      #expect(docker.status == 0 && docker.stdout.contains(token))
    }
  }

  /// Unreadable information from kubectl does not count as "no server" (rule A16).
  @Test func kubectlInformationThatCannotBeRead() async throws {
    try await with { box, shop, _ in
      let url = shop.url
      for (info, why) in [
        ("x", "is not a JSON object"), ("[]", "is not a JSON object"),
        (#"{"spec":{"cluster":{"server":"\#(url)"}}"#, "is not a JSON object"),
        (" ", "is not a JSON object"), ("null", "is not a JSON object"),
        (#"{"spec":[]}"#, "has a spec that is not an object"),
        (#"{"spec":"x"}"#, "has a spec that is not an object"),
        (#"{"spec":{"cluster":"\#(url)"}}"#, "has a cluster without a server"),
        (#"{"spec":{"cluster":null}}"#, "has a cluster without a server"),
        (#"{"spec":{"cluster":{}}}"#, "has a cluster without a server"),
        (#"{"spec":{"cluster":{"server":["\#(url)"]}}}"#, "has a cluster without a server"),
        (
          #"{"spec":{"cluster":{"server":"\#(url)","server":"https://evil.example"}}}"#,
          "has a duplicate key"
        ),
        (#"{"spec":{},"spec":{"cluster":{"server":"\#(url)"}}}"#, "has a duplicate key"),
        (
          #"{"spec":{"cluster":{"server":""}}}"#,
          "has a server that is not a canonical URL"
        ),
      ] {
        let run = try await box.run(
          "helper", "kubectl", "-p", "shop", env: ["KUBERNETES_EXEC_INFO": info])
        #expect(run.status == 13, "\(info)")
        #expect(run.stdout == "", "\(info)")
        #expect(run.stderr == "authctl: KUBERNETES_EXEC_INFO \(why)\n", "\(info)")
      }
    }
  }

  @Test func realGit() async throws {
    try await with { box, _, given in
      let (token, host) = split(given)
      let script = #"""
        mkdir -p "$HOME/bin"; ln -s "$1" "$HOME/bin/git-credential-authctl"
        PATH=$HOME/bin:$PATH; export PATH
        printf 'protocol=http\nhost=%s\n\n' "$2" |
          git -c credential.helper=authctl credential fill
        """#
      let run = try await box.run(
        "-c", script, "sh", try Built.authctl(), host, program: "/bin/sh", mayPrint: [token])
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stdout.contains("\npassword=\(token)\n"), "\(run.stdout)")
    }
  }

  @Test func docker() async throws {
    try await with { box, shop, given in
      let (token, _) = split(given)
      let run = try await box.run(
        "helper", "docker", "get", stdin: shop.url + "\n", mayPrint: [token])
      #expect(run.status == 0 && run.stderr == "")
      let answer = try JSON(parsing: run.stdout)
      #expect(answer["ServerURL"]?.string == shop.url && answer["Secret"]?.string == token)
      #expect(answer["Username"]?.string == Shop.ada)
      for server in ["registry.example", "https://" + shop.url.dropFirst(7), "", "a b", "x\r\ny"] {
        let none = try await box.run("helper", "docker", "get", stdin: server)
        #expect(none.status == 1, "\(server)")
        #expect(none.stdout == "credentials not found in native keychain\n", "\(server)")
      }
      let list = try await box.run("helper", "docker", "list")
      #expect(list.status == 0 && list.stdout == "{}\n")
      for operation in ["store", "erase"] {
        let refused = try await box.run("helper", "docker", operation, stdin: shop.url)
        #expect(refused.status == 1 && refused.stdout == "" && refused.stderr != "")
      }
    }
  }

  @Test func bazelAndCargo() async throws {
    try await with { box, shop, given in
      let (token, _) = split(given)
      let bazel = try await box.run(
        "helper", "bazel", "get", stdin: #"{"uri":"\#(shop.url)/cas/1"}"#, mayPrint: [token])
      #expect(bazel.status == 0 && bazel.stderr == "")
      let headers = try JSON(parsing: bazel.stdout)["headers"]
      #expect(headers?["Authorization"]?.elements.map(\.string) == ["Bearer \(token)"])
      for asked in [#"{"uri":"https://h.example/"}"#, "{}", "", "[", #"{"uri":"\#(shop.url)0/"}"#] {
        let none = try await box.run("helper", "bazel", "get", stdin: asked)
        #expect(none.status == 0 && none.stdout == "{\"headers\":{}}\n", "\(asked)")
      }
      func ask(_ url: String, _ kind: String = "get") -> String {
        #"{"v":1,"registry":{"index-url":"\#(url)"},"kind":"\#(kind)","operation":"read"}"# + "\n"
      }
      let asked =
        ask("sparse+\(shop.url)/index/") + ask("sparse+https://h.example/") + ask(shop.url)
        + ask("sparse+\(shop.url)/", "login") + "nonsense\n"
      let cargo = try await box.run(
        "helper", "cargo", "--cargo-plugin", stdin: asked, mayPrint: [token])
      #expect(cargo.status == 0 && cargo.stderr == "")
      let lines = cargo.stdout.split(separator: "\n").map(String.init)
      #expect(lines.count == 6 && lines[0] == #"{"v":[1]}"#)
      let found = try JSON(parsing: lines[1])["Ok"]
      #expect(found?["token"]?.string == "Bearer \(token)" && found?["cache"]?.string == "expires")
      let kinds = try lines.dropFirst(2).map { try JSON(parsing: $0)["Err"]?["kind"]?.string }
      #expect(
        kinds == [
          "not-found", "url-not-supported", "operation-not-supported", "operation-not-supported",
        ])
    }
  }

  @Test func kubectlCurlAndNetrc() async throws {
    try await with { box, shop, given in
      let (token, host) = split(given)
      for (info, version) in [
        ("", "v1"),
        (#"{"apiVersion":"client.authentication.k8s.io/v1beta1","spec":{}}"#, "v1beta1"),
        (#"{"spec":{"cluster":{"server":"\#(shop.url)"}}}"#, "v1"),
      ] {
        let run = try await box.run(
          "helper", "kubectl", "-p", "shop", env: ["KUBERNETES_EXEC_INFO": info],
          mayPrint: [token])
        let answer = try JSON(parsing: run.stdout)
        #expect(run.status == 0 && answer["status"]?["token"]?.string == token)
        #expect(answer["apiVersion"]?.string == "client.authentication.k8s.io/\(version)")
      }
      let foreign = try await box.run(
        "helper", "kubectl", "-p", "shop",
        env: ["KUBERNETES_EXEC_INFO": #"{"spec":{"cluster":{"server":"https://evil.example"}}}"#])
      #expect(foreign.status == 13 && foreign.stdout == "")

      let config = try await box.run(
        "helper", "curl-config", "-p", "shop", "/me", mayPrint: [token])
      #expect(
        config.stdout == """
          header = "Authorization: Bearer \(token)"
          proto = "=http,https"
          max-redirs = 0
          url = "\(shop.url)/me"

          """)
      let curl = try await box.run(
        "-c", #""$1" helper curl-config -p shop /me | curl -s -K -"#, "sh", try Built.authctl(),
        program: "/bin/sh")
      #expect(curl.stdout.contains("\"email\":\"ada@example.com\""), "\(curl.stderr)")
      let away = try await box.run("helper", "curl-config", "-p", "shop", "https://evil.example/")
      #expect(away.status == 13 && away.stdout == "")

      let netrc = try await box.run("helper", "netrc", "-p", "shop", mayPrint: [token])
      #expect(netrc.stdout == "machine 127.0.0.1 login ada@example.com password \(token)\n")
      _ = host
      for helper in ["kubectl", "curl-config", "headers", "netrc"] {
        let unnamed = try await box.run("helper", helper)
        #expect(unnamed.status == 2 && unnamed.stdout == "", "\(helper) needs -p")
      }
    }
  }

  /// One JSON object with the header, for what a session may be sent to (rule A16).
  @Test func headers() async throws {
    try await with { box, shop, given in
      let (token, _) = split(given)
      for targets in [[], ["/mcp"], ["\(shop.url)/mcp", "/x"]] {
        let run = try await box.run(
          ["helper", "headers", "-p", "shop"] + targets, mayPrint: [token])
        #expect(run.status == 0 && run.stderr == "")
        #expect(run.stdout == #"{"Authorization":"Bearer \#(token)"}"# + "\n")
      }
      for (target, status) in [
        ("https://evil.example/", Int32(13)), ("HTTP://127.0.0.1/", 13), ("mcp", 2),
      ] {
        let away = try await box.run("helper", "headers", "-p", "shop", target)
        #expect(away.status == status && away.stdout == "", "\(target)")
      }
      let stranger = try await box.run("helper", "headers", "-p", "shop", "-u", "eve")
      #expect(stranger.status == 10 && stranger.stdout == "")
    }
  }

  /// Only git and docker, which ask for a password, get a stored one (rule B15).
  @Test func storedPasswordIsForGitAndDocker() async throws {
    try await Sandbox.with { box in
      let password = box.canary.make("password")
      let api = try box.recorder()
      try box.profile("files", "url = \"\(api.url)\"\npreset = \"http-basic\"\n")
      try await box.signIn("files", as: "ada", password: password)
      let git = try await box.run(
        "helper", "git", "get", stdin: "protocol=http\nhost=\(api.authority)\n\n",
        mayPrint: [password])
      #expect(git.stdout == "username=ada\npassword=\(password)\n")
      #expect(git.stderr == "" && git.status == 0)
      let docker = try await box.run(
        "helper", "docker", "get", stdin: api.url, mayPrint: [password])
      #expect(try JSON(parsing: docker.stdout)["Secret"]?.string == password)
      #expect(docker.stderr == "" && docker.status == 0)
      let index = #"{"v":1,"registry":{"index-url":"sparse+\#(api.url)/"},"kind":"get"}"#
      let others: [(words: [String], stdin: String, stdout: String)] = [
        (["bazel", "get"], #"{"uri":"\#(api.url)/x"}"#, ""),
        (["cargo", "--cargo-plugin"], index + "\n", "{\"v\":[1]}\n"),
        (["kubectl", "-p", "files"], "", ""), (["curl-config", "-p", "files"], "", ""),
        (["netrc", "-p", "files"], "", ""), (["headers", "-p", "files"], "", ""),
      ]
      for (words, stdin, stdout) in others {
        let run = try await box.run(["helper"] + words, stdin: stdin)
        #expect(run.status == 2 && run.stdout == stdout, "\(words): \(run.stdout)")
        #expect(run.stderr.hasPrefix("authctl: files stores a password, not a token\n"))
        #expect(run.hasErrorForm, "\(run.stderr)")
      }
    }
  }

  /// Tokens that would inject syntax into the output format (rule A5).
  @Test(arguments: [
    #"a"b"#, #"a\b"#, "a b", "a#b",
  ])
  func hostileTokens(token: String) async throws {
    try await Sandbox.with { box in
      let body = JSON.object(["token": .string(token)]).text
      let api = try box.recorder { _, _ in .http(200, body) }
      try box.profile("shop", "url = \"\(api.url)\"\npreset = \"json\"\n")
      let login = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "pw-of-ada\n")
      #expect(login.status == 0, "\(login.stderr)")
      let config = try await box.run("helper", "curl-config", "-p", "shop", mayPrint: [token])
      #expect(config.status == 0 && config.stderr == "")
      let curl = try await box.run(
        "-s", "-K", "-", api.url + "/x", stdin: config.stdout, program: "/usr/bin/curl",
        mayPrint: [token])
      #expect(curl.status == 0)
      #expect(
        api.texts.last?.contains("\r\nAuthorization: Bearer \(token)\r\n") == true,
        "\(api.texts)")
      let netrc = try await box.run("helper", "netrc", "-p", "shop")
      #expect(netrc.status == 1 && netrc.stdout == "", "\(netrc.stdout)")
    }
  }
}
