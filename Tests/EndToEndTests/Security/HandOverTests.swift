import Testing

/// Passing a token to another program requires the same origin check as a request: rule A1.
@Suite struct HandOverTests {
  /// Runs `body` after a sign-in to shop and a change of its profile to another server.
  private func withMovedShop(
    _ body: (Sandbox, _ shop: Recorder, _ other: Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let shop = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(access, refresh),
          "POST /refresh": Scene.tokens(box.canary.make("new"), refresh),
        ]))
      let other = try box.recorder()
      try box.profile("shop", Scene.profile(shop.url))
      try await box.signIn("shop")
      let set = try await box.run("profile", "set", "shop", "url=\(other.url)")
      #expect(set.status == 0, "\(set.stderr)")
      let seen = shop.connections.count
      try await body(box, shop, other)
      #expect(other.connections.count == 0)
      #expect(shop.connections.count == seen)
    }
  }

  @Test func aProfileThatMovedGetsNoToken() async throws {
    try await withMovedShop { box, _, other in
      let program = ["--", "/bin/sh", "-c", #"echo ran; curl -s "$AUTHCTL_URL/x""#]
      let rows: [(words: [String], status: Int32)] = [
        (["get", "/x"], 13),
        (["exec"] + program, 13),
        (["exec", "--file"] + program, 13),
        (["exec", "--env", "T"] + program, 13),
        (["exec", "--env", "FOO=bar"] + program, 13),
        (["token"], 13),
        (["token", "--json", "--errors", "text"], 13),
        (["token", "--header"], 13),
        (["token", "--force-refresh"], 13),
        (["token", "--min-ttl", "1d"], 13),
        (["helper", "curl-config"], 13),
        (["helper", "curl-config", "/x"], 13),
        (["helper", "netrc"], 13),
        (["helper", "kubectl"], 13),
      ]
      for row in rows {
        let run = try await box.run([row.words[0], "-p", "shop"] + row.words.dropFirst())
        #expect(run.status == row.status, "\(row.words)")
        #expect(run.stdout == "", "\(row.words)")
        #expect(
          run.stderr == """
            authctl: shop: the session was not created for \(other.url)
            hint: authctl login -p shop

            """, "\(row.words)")
      }
    }
  }

  @Test func helpersHaveNothingForAProfileThatMoved() async throws {
    try await withMovedShop { box, shop, other in
      for url in [shop.url, other.url] {
        for options in [[], ["-p", "shop"]] {
          let note: Comment = "\(url) \(options)"
          let host = String(url.dropFirst("http://".utf8.count))
          let git = try await box.run(
            ["helper", "git"] + options + ["get"], stdin: "protocol=http\nhost=\(host)\n\n")
          #expect(git.status == 0 && git.stdout == "" && git.stderr == "", note)
          let docker = try await box.run(["helper", "docker"] + options + ["get"], stdin: url)
          #expect(docker.status == 1 && docker.stderr == "", note)
          #expect(docker.stdout == "credentials not found in native keychain\n", note)
          let bazel = try await box.run(
            ["helper", "bazel"] + options + ["get"], stdin: #"{"uri":"\#(url)/"}"#)
          #expect(bazel.status == 0 && bazel.stderr == "", note)
          #expect(bazel.stdout == "{\"headers\":{}}\n", note)
          let cargo = try await box.run(
            ["helper", "cargo"] + options + ["--cargo-plugin"],
            stdin: #"{"v":1,"registry":{"index-url":"sparse+\#(url)/"},"kind":"get"}"# + "\n")
          #expect(cargo.status == 0 && cargo.stderr == "", note)
          #expect(cargo.stdout == "{\"v\":[1]}\n{\"Err\":{\"kind\":\"not-found\"}}\n", note)
        }
      }
    }
  }

  /// Another process signs in elsewhere while the program runs: the file keeps the old token.
  @Test func theTokenFileKeepsToItsOrigin() async throws {
    try await Sandbox.with { box in
      let (old, renewed) = (box.canary.make("old"), box.canary.make("renewed"))
      let foreign = box.canary.make("foreign")
      let shop = try box.recorder(
        answering: Scene.routes([
          "POST /login": Scene.tokens(old, "refresh-1", seconds: 2),
          "POST /refresh": Scene.tokens(renewed, "refresh-2", seconds: 2),
        ]))
      let other = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(foreign, "refresh-3")]))
      try box.profile("shop", Scene.profile(shop.url))
      try await box.signIn("shop")
      let program = #"echo "ready $$"; read -r line; cat "$AUTHCTL_TOKEN_FILE""#
      let child = try box.start(
        ["exec", "-p", "shop", "--file", "--", "/bin/sh", "-c", program], keepInputOpen: true,
        mayPrint: [old, renewed])
      _ = try await child.readyProcess()
      try box.profile("shop", Scene.profile(other.url))
      try await box.signIn("shop")
      let wanted = "was not renewed: shop: the session was not created for \(shop.url)\n"
      let view = await child.until {
        $0.finished || String(decoding: $0.err, as: UTF8.self).hasSuffix(wanted)
      }
      #expect(String(decoding: view.err, as: UTF8.self).hasSuffix(wanted))
      child.closeInput()
      let run = try await child.finish()
      #expect(run.status == 0)
      #expect([old, renewed].contains { run.stdout.hasSuffix("\n" + $0) }, "\(run.stdout)")
    }
  }

  // MARK: Two APIs

  /// Two APIs with a session each.
  private struct Pair {
    let box: Sandbox
    let (shop, billing): (Recorder, Recorder)
    let shopSecrets: [String]
    let billingSecrets: [String]

    init(_ box: Sandbox) async throws {
      self.box = box
      func start(_ name: String) throws -> (Recorder, [String]) {
        let secrets = [box.canary.make("\(name)-access"), box.canary.make("\(name)-refresh")]
        let api = try box.recorder(
          answering: Scene.routes([
            "POST /login": Scene.tokens(secrets[0], secrets[1]),
            "POST /refresh": Scene.tokens(secrets[0], secrets[1]),
            "GET /x": .http(200, "body of \(name)"),
          ]))
        try box.profile(name, Scene.profile(api.url))
        return (api, secrets)
      }
      (shop, shopSecrets) = try start("shop")
      (billing, billingSecrets) = try start("billing")
      try await box.signIn("shop")
      try await box.signIn("billing")
    }

    /// Expects that no token reached the other API.
    func check(_ note: Comment) {
      #expect(Scene.holds(billing, shopSecrets) == [], note)
      #expect(Scene.holds(shop, billingSecrets) == [], note)
    }
  }

  private static let options: [[String]] = [
    [], ["--file"], ["--env", "AUTHCTL_TOKEN"], ["--env", "FOO=bar"],
    ["--file", "--env", "FOO=bar"],
    ["--file", "--env", "AUTHCTL_TOKEN", "--env", "H=Bearer {access_token}"],
    ["--env", "AUTHCTL_TOKEN", "--env-keep", "AUTHCTL_TOKEN_FOR_BILLING"],
  ]

  /// Programs that use the environment they inherit, also with authctl. `$1` is authctl, `$2` and
  /// `$3` are shop and billing; their output and exit codes are not checked.
  private static let programs = #"""
    a=$1 shop=$2 billing=$3
    use='printf "Authorization: Bearer %s\n" "$AUTHCTL_TOKEN" | curl -sH @- "$AUTHCTL_URL/x"'
    ask() { printf 'protocol=http\nhost=%s\n\n' "${1#http://}" | "$a" helper git get; }
    {
      "$a" get -p billing /x; "$a" get "$billing/x"; "$a" get /x
      "$a" exec -p billing -- sh -c "$use"; "$a" exec -p billing --env AUTHCTL_TOKEN -- sh -c "$use"
      "$a" exec -- sh -c "$use"
      printf 'X-Token: %s\n' "$("$a" token -p billing)" | curl -sH @- "$billing/x"
      echo '{"url":"/x"}' | "$a" batch -p billing
      "$a" helper curl-config -p billing /x | curl -sK -
      for api in "$shop" "$billing"; do
        ask "$api" | sed 's/^/X-/; s/=/: /' | curl -sH @- "$api/x"
      done
      sh -c "$use"
      for file in "$AUTHCTL_TOKEN_FILE" "$BEARER_TOKEN_FILE"; do
        [ -z "$file" ] || curl -s --data-binary "@$file" "$AUTHCTL_URL/x"
      done
    } >/dev/null 2>&1
    "$a" get -p shop /x
    """#

  /// Combines options of `exec`, inherited variables, and programs.
  @Test(arguments: options) func noTokenReachesAnotherAPI(_ options: [String]) async throws {
    try await Sandbox.with { box in
      let pair = try await Pair(box)
      let (shopURL, billingURL) = (pair.shop.url, pair.billing.url)
      let (own, foreign) = (pair.shopSecrets[0], pair.billingSecrets[0])
      let ownFile = try box.write("shop-token", own)
      let foreignFile = try box.write("billing-token", foreign)
      let rows: [(env: [String: String?], status: Int32)] = [
        ([:], 0),
        (["AUTHCTL_URL": billingURL], 0),
        (["AUTHCTL_PROFILE": "billing"], 0),
        (["AUTHCTL_URL": billingURL, "AUTHCTL_PROFILE": "billing"], 0),
        (["AUTHCTL_TOKEN_FOR_BILLING": foreign, "AUTHCTL_URL": billingURL], 0),
        (["BEARER_TOKEN_FILE": foreignFile, "AUTHCTL_TOKEN_DIR": box.root], 0),
        (["AUTHCTL_TOKEN": own, "AUTHCTL_URL": shopURL, "AUTHCTL_PROFILE": "billing"], 0),
        (["AUTHCTL_TOKEN_FILE": ownFile, "AUTHCTL_URL": shopURL], 0),
        (["AUTHCTL_TOKEN": foreign, "AUTHCTL_URL": billingURL], 13),
        (["AUTHCTL_TOKEN_FILE": foreignFile, "AUTHCTL_URL": billingURL], 13),
      ]
      for row in rows {
        let note: Comment = "exec \(options), inherited \(row.env.keys.sorted())"
        let run = try await box.run(
          ["exec", "-p", "shop"] + options
            + [
              "--", "/bin/sh", "-c", Self.programs, "sh", try Built.authctl(), shopURL, billingURL,
            ], env: row.env)
        #expect(run.status == row.status, note)
        #expect(run.stdout == (row.status == 0 ? "body of shop" : ""), note)
        pair.check(note)
      }
    }
  }

  /// Variables that would send a token to another API, or replace it with another's.
  @Test func whatSaysWhoseATokenIsCannotBeSet() async throws {
    try await Sandbox.with { box in
      let pair = try await Pair(box)
      let foreign = pair.billingSecrets[0]
      let counts = (pair.shop.connections.count, pair.billing.connections.count)
      for name in [
        "AUTHCTL_URL", "AUTHCTL_PROFILE", "AUTHCTL_TOKEN_FILE", "AUTHCTL_TOKEN_DIR",
        "AUTHCTL_TOKEN_FOR_BILLING",
      ] {
        for item in [name, "\(name)=\(pair.billing.url)"] {
          let run = try await box.run("exec", "-p", "shop", "--env", item, "--", "/bin/echo", "ran")
          #expect(run.status == 125, "\(item)")
          #expect(run.stdout == "", "\(item)")
          #expect(run.stderr == "authctl: --env \(name): authctl does not set this variable\n")
        }
      }
      for name in ["AUTHCTL_TOKEN", "AUTHCTL_TOKEN_FILE"] {
        let run = try await box.run(
          "exec", "-p", "shop", "--file", "--env-keep", name, "--", "/bin/echo", "ran",
          env: ["AUTHCTL_TOKEN_FOR_SHOP": pair.shopSecrets[0], name: foreign])
        #expect(run.status == 125)
        #expect(run.stdout == "")
        #expect(
          run.stderr == """
            authctl: --env-keep \(name): the program gets only the profile's token
            hint: AUTHCTL_TOKEN_FOR_NAME can be kept: it is used only with the profile NAME

            """)
      }
      #expect(pair.shop.connections.count == counts.0)
      #expect(pair.billing.connections.count == counts.1)
    }
  }

  // MARK: Helpers

  /// `AUTHCTL_TOKEN` is not given to an API that was chosen only by its URL.
  @Test(arguments: ["AUTHCTL_TOKEN", "AUTHCTL_TOKEN_FILE"])
  func helpersKeepATokenOfTheEnvironment(_ variable: String) async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let challenge = Recorder.Answer.http(
        401, "", headers: [("WWW-Authenticate", "Basic realm=git")])
      let (shop, billing) = (try box.recorder(), try box.recorder { _, _ in challenge })
      try box.profile("shop", Scene.profile(shop.url))
      try box.profile("billing", Scene.profile(billing.url))
      try box.write("config/authctl/config.toml", "default_profile = \"shop\"\n")
      let value = variable == "AUTHCTL_TOKEN" ? token : try box.write("token", token)
      let host = String(billing.url.dropFirst("http://".utf8.count))
      let authctl = try Built.authctl()
      for more in [[:], ["AUTHCTL_URL": shop.url], ["AUTHCTL_PROFILE": "shop"]] {
        for options in [[], more["AUTHCTL_URL"] == nil ? [] : ["-p", "billing"]] {
          let env = more.merging([variable: value]) { $1 }.mapValues { String?.some($0) }
          let note: Comment = "\(env.keys.sorted()) \(options)"
          let git = try await box.run(
            ["helper", "git"] + options + ["get"], stdin: "protocol=http\nhost=\(host)\n\n",
            env: env)
          #expect(git.status == 0 && git.stdout == "" && git.stderr == "", note)
          let docker = try await box.run(
            ["helper", "docker"] + options + ["get"], stdin: billing.url, env: env)
          #expect(docker.status == 1 && docker.stderr == "", note)
          #expect(docker.stdout == "credentials not found in native keychain\n", note)
          let bazel = try await box.run(
            ["helper", "bazel"] + options + ["get"], stdin: #"{"uri":"\#(billing.url)/"}"#,
            env: env)
          #expect(bazel.status == 0 && bazel.stderr == "", note)
          #expect(bazel.stdout == "{\"headers\":{}}\n", note)
          let cargo = try await box.run(
            ["helper", "cargo"] + options + ["--cargo-plugin"],
            stdin: #"{"v":1,"registry":{"index-url":"sparse+\#(billing.url)/"},"kind":"get"}"#
              + "\n", env: env)
          #expect(cargo.status == 0 && cargo.stderr == "", note)
          #expect(cargo.stdout == "{\"v\":[1]}\n{\"Err\":{\"kind\":\"not-found\"}}\n", note)
        }
        let seen = billing.connections.count
        var env = more.merging([variable: value]) { $1 }.mapValues { String?.some($0) }
        env["GIT_TERMINAL_PROMPT"] = "0"
        let real = try await box.run(
          "-c", "credential.helper=!'\(authctl)' helper git", "ls-remote", billing.url + "/x.git",
          env: env, program: "/usr/bin/git")
        #expect(real.status == 128, "\(real.stderr)")
        #expect(billing.connections.count > seen)
      }
      #expect(Scene.holds(billing, [token]) == [])
      #expect(shop.connections.count == 0)
    }
  }

  /// `AUTHCTL_PROFILE` names a file, while the URL would choose the only profile in the folder.
  @Test func aTokenOfAFileIsNotForTheOnlyProfile() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let (shop, billing) = (try box.recorder(), try box.recorder())
      try box.profile("billing", Scene.profile(billing.url))
      let file = try box.write("ci/shop.toml", Scene.profile(shop.url))
      let env: [String: String?] = ["AUTHCTL_TOKEN": token, "AUTHCTL_PROFILE": file]
      let run = try await box.run("get", billing.url + "/x", env: env)
      #expect(run.status == 13)
      #expect(run.stdout == "")
      #expect(run.hasErrorForm, "\(run.stderr)")
      let host = String(billing.url.dropFirst("http://".utf8.count))
      let git = try await box.run(
        "helper", "git", "get", stdin: "protocol=http\nhost=\(host)\n\n", env: env)
      #expect(git.status == 0 && git.stdout == "" && git.stderr == "")
      #expect(billing.connections.count == 0)
    }
  }

  @Test func aVariableThatFitsTwoProfilesServesNeither() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let api = try box.recorder()
      for name in ["my-shop", "my.shop", "MY_SHOP", "other"] {
        try box.profile(name, Scene.profile(api.url))
      }
      let env: [String: String?] = ["AUTHCTL_TOKEN_FOR_MY_SHOP": token]
      for words in [["get", "/x"], ["token"], ["exec", "--", "/bin/echo", "ran"]] {
        for name in ["my-shop", "my.shop", "MY_SHOP"] {
          let run = try await box.run([words[0], "-p", name] + words.dropFirst(), env: env)
          #expect(run.status == (words[0] == "exec" ? 125 : 2), "\(words) \(name)")
          #expect(run.stdout == "")
          #expect(
            run.stderr == """
              authctl: AUTHCTL_TOKEN_FOR_MY_SHOP matches several profiles: MY_SHOP, my-shop, my.shop
              hint: use AUTHCTL_TOKEN with AUTHCTL_URL

              """)
        }
      }
      #expect(api.connections.count == 0)
      for name in ["my.shop", "MY_SHOP"] {
        #expect(try await box.run("profile", "remove", name).status == 0)
      }
      #expect(try await box.run("get", "-p", "my-shop", "/x", env: env).status == 0)
      #expect(Scene.holds(api, [token]) == [token])
    }
  }
}
