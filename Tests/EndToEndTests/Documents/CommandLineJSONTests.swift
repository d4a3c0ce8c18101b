import Testing

/// The JSON that scripts rely on (design 2).
@Suite struct CommandLineJSONTests {
  private func isTime(_ value: JSON?) -> Bool {
    value?.string?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ/) != nil
  }

  /// New names may be added; those of design 2 stay.
  private func has(_ value: JSON?, _ names: String) -> Bool {
    let keys = value?.keys ?? []
    return names.split(separator: " ").allSatisfy { keys.contains(String($0)) }
  }

  @Test func shapesOfEveryCommand() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      func json(_ words: String..., stdin: String? = nil) async throws -> JSON {
        let run = try await box.run(words + ["--json"], stdin: stdin)
        #expect(run.status == 0, "\(words): \(run.stderr)")
        #expect(run.stdout.utf8.last == 10 && run.stdout.utf8.filter { $0 == 10 }.count == 1)
        return try JSON(parsing: run.stdout)
      }
      #expect(try await json("status") == [])
      #expect(try await json("profile", "list") == [])
      _ = try await json("profile", "add", "shop", api.url, "--preset", "vapor-basic")
      try await box.run("profile", "add", "school", api.url, "--preset", "express-jwt", "-q")

      let session = "profile account origin expires_at refreshable store"
      let made = try await json(
        "register", "-p", "school", "-u", "new@example.com", "--password-stdin", "--field",
        "roleId=1", stdin: "secret1\n")
      #expect(has(made, session))
      #expect(made["profile"] == "school" && made["account"] == "new@example.com")
      #expect(made["expires_at"] == .null && made["store"] == .null)

      let login = try await json(
        "login", "-p", "shop", "-u", "ada@example.com", "--password-stdin",
        stdin: "correct horse battery\n")
      #expect(has(login, session) && isTime(login["expires_at"]))
      #expect(login["profile"] == "shop" && login["account"] == "ada@example.com")
      #expect(login["origin"] == .string(api.url))
      #expect(login["refreshable"] == true && login["store"] == "secret-service")
      let refresh = try await json("refresh", "-p", "shop")
      #expect(has(refresh, session) && isTime(refresh["expires_at"]))

      let rows = try await json("status")
      let row = rows[0]
      #expect(rows.elements.count == 1)
      #expect(
        has(row, "profile account origin state expires_at seconds_left refreshable store default"))
      #expect(row?["state"] == "valid" && row?["default"] == false && isTime(row?["expires_at"]))
      #expect((800...900).contains(row?["seconds_left"]?.int ?? 0))

      let whoami = try await json("whoami", "-p", "shop")
      #expect(has(whoami, "profile account origin source user"))
      #expect(whoami["source"] == "server" && whoami["user"]?["email"] == "ada@example.com")
      let offline = try await json("whoami", "--offline", "-p", "shop")
      #expect(offline["source"] == "store" && offline["user"] == .null)
      #expect(offline["account"] == "ada@example.com")

      let token = try await json("token", "-p", "shop")
      #expect(has(token, "access_token expires_at header") && isTime(token["expires_at"]))
      #expect(token["header"]?.keys == ["name", "value"])

      let profiles = try await json("profile", "list")
      #expect(profiles.elements.count == 2)
      #expect(has(profiles[1], "name url preset default account accounts state"))
      #expect(profiles[0]?["name"] == "school" && profiles[0]?["state"] == "signed out")
      #expect(profiles[1]?["name"] == "shop" && profiles[1]?["state"] == "valid")
      #expect(profiles[1]?["url"] == .string(api.url))
      #expect(profiles[1]?["account"] == "ada@example.com")

      let logout = try await json("logout", "-p", "shop")
      #expect(has(logout[0], "profile account revoked deleted"))
      #expect(logout[0]?["revoked"] == .null && logout[0]?["deleted"] == true)
    }
  }

  @Test func errorsAreOneLineOfJSON() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      try await box.run("profile", "add", "shop", api.url, "--preset", "json", "-q")
      let names = [
        "account", "code", "exit", "hint", "message", "profile", "server", "status", "url",
      ]
      let ways: [(words: [String], environment: [String: String?])] = [
        (["--errors", "json"], [:]), (["--errors=json"], [:]), ([], ["AUTHCTL_ERRORS": "json"]),
      ]
      let lines: [(line: [String], code: String, exit: Int)] = [
        (["get", "/me"], "not_signed_in", 10), (["stauts"], "usage", 2), (["get"], "usage", 2),
        (["get", "/me", "-p", "shp"], "usage", 2),
        (["login", "-u", "ada"], "input_needed", 10),
        (["get", "--anonymous", "/items"], "client_error", 4),
        (["get", "--anonymous", "/redirect?to=/echo", "--max-redirs", "0"], "redirect", 3),
        (["get", "--anonymous", "http://127.0.0.1:1/x"], "network", 7),
      ]
      for (words, environment) in ways {
        for (index, (line, code, exit)) in lines.enumerated() {
          let whole = index.isMultiple(of: 2) ? line + words : words + line
          let run = try await box.run(whole, env: environment)
          #expect(run.status == Int32(exit), "\(whole)")
          #expect(run.stderr.utf8.filter { $0 == 10 }.count == 1, "\(run.stderr)")
          let value = try JSON(parsing: run.stderr)
          #expect(value.keys == ["error"])
          let error = value["error"]
          #expect(error?.keys == names)
          #expect(error?["code"] == .string(code) && error?["exit"]?.int == exit)
          #expect(error?["message"]?.string?.isEmpty == false)
        }
      }
      // --json selects JSON for errors too; --errors text turns that off.
      let asked = try await box.run("token", "--json")
      let error = try JSON(parsing: asked.stderr)["error"]
      #expect(error?["profile"] == "shop" && error?["hint"] == "authctl login -p shop")
      #expect(asked.status == 10 && asked.stdout == "")
      let login = try await box.run(
        "login", "-u", "ada@example.com", "--password-stdin", stdin: "correct horse battery\n")
      #expect(login.status == 0)
      let missing = try await box.run("get", "/items/77", "--errors", "json")
      #expect(missing.status == 4)
      let known = try JSON(parsing: missing.stderr)["error"]
      #expect(known?["status"] == 404 && known?["url"] == .string(api.url + "/items/77"))
      #expect(known?["profile"] == "shop" && known?["account"] == "ada@example.com")
      try await box.run("logout")
      let words = try await box.run(
        "get", "/me", "--errors", "text", env: ["AUTHCTL_ERRORS": "json"])
      #expect(words.stderr.hasPrefix("authctl: not signed in to shop"))
      let wrong = try await box.run("get", "/me", "--errors", "yaml")
      #expect(wrong.status == 2 && wrong.stdout == "")
    }
  }
}
