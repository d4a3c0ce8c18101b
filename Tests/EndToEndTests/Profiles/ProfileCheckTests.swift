import Glibc
import Testing

/// `authctl profile check`, `show` and `list`: mistakes, settings in effect, and existing profiles.
@Suite struct ProfileCheckTests {
  private static let good = "url = \"https://good.example\"\npreset = \"simplejwt\"\n"
  private static let bad = """
    acount = "ada"
    url = "https://bad.example"

    [login]
    path = "/x"
    methd = "PUT"
    [session]
    refused = [200]

    """
  private static let worse = "url = \"https://worse.example\npreset = \"json\"\n"

  private static func told(_ name: String) -> String {
    """
    authctl: \(name):1:1: unknown key acount
    hint: did you mean account?
    authctl: \(name):6:1: unknown key login.methd
    hint: did you mean method?
    authctl: \(name):8:1: session.refused: 200 is not allowed; use 400 to 499 except 407, 408 and 429

    """
  }
  private static let toldOfWorse =
    "authctl: \(ProfileDesk.shown("worse")):1:7: invalid TOML: this string is not closed on its line\n"

  private func withThree(_ body: (ProfileDesk) async throws -> Void) async throws {
    try await ProfileDesk.with { desk in
      try desk.write("good", Self.good)
      try desk.write("bad", Self.bad)
      try desk.write("worse", Self.worse)
      let before = desk.everything
      try await body(desk)
      #expect(desk.everything == before, "looking changes nothing")
    }
  }

  // MARK: check

  @Test func everyMistakeOfEveryProfile() async throws {
    try await withThree { desk in
      let all = try await desk.run("profile", "check")
      #expect(all.status == 2 && all.stdout == "")
      let mistakes = Self.told(ProfileDesk.shown("bad")) + Self.toldOfWorse
      #expect(all.stderr == "good: no mistakes\n" + mistakes)
      #expect(try await desk.run("profile", "check", "-q").stderr == mistakes)
      let some = try await desk.run("profile", "check", "worse", "good")
      #expect(some.status == 2 && some.stdout == "")
      #expect(some.stderr == "good: no mistakes\n" + Self.toldOfWorse)
      let one = try await desk.run("profile", "check", "good")
      #expect(one.status == 0 && one.stdout == "" && one.stderr == "good: no mistakes\n")
      let quiet = try await desk.run("profile", "check", "good", "-q")
      #expect(quiet.status == 0 && quiet.stdout == "" && quiet.stderr == "")
    }
  }

  @Test func filesAreCheckedWhereTheyLie() async throws {
    try await withThree { desk in
      try desk.box.write("home/team/shop.toml", Self.bad)
      try desk.box.write("home/team/fine.toml", Self.good)
      let run = try await desk.run("profile", "check", "./team/shop.toml", "good", "team/fine.toml")
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == "good: no mistakes\nteam/fine.toml: no mistakes\n"
          + Self.told("./team/shop.toml"))
    }
  }

  @Test func mistakesInJSON() async throws {
    try await withThree { desk in
      let run = try await desk.run("profile", "check", "--json", "-q")
      #expect(run.status == 2 && run.stderr == "")
      let file = ProfileDesk.shown("bad")
      #expect(
        try JSON(parsing: run.stdout) == [
          [
            "name": "bad", "ok": false,
            "mistakes": [
              [
                "message": .string("\(file):1:1: unknown key acount"),
                "hint": "did you mean account?",
              ],
              [
                "message": .string("\(file):6:1: unknown key login.methd"),
                "hint": "did you mean method?",
              ],
              [
                "message": .string(
                  "\(file):8:1: session.refused: 200 is not allowed; "
                    + "use 400 to 499 except 407, 408 and 429"), "hint": nil,
              ],
            ],
          ], ["name": "good", "ok": true, "mistakes": []],
          [
            "name": "worse", "ok": false,
            "mistakes": [
              [
                "message": .string(
                  "\(ProfileDesk.shown("worse")):1:7: invalid TOML: this string is not closed on its line"
                ),
                "hint": nil,
              ]
            ],
          ],
        ])
      let good = try await desk.run("profile", "check", "good", "--json")
      #expect(good.status == 0)
      #expect(good.stdout == "[{\"name\":\"good\",\"ok\":true,\"mistakes\":[]}]\n")
    }
  }

  @Test func nothingToCheckIsNoMistake() async throws {
    try await ProfileDesk.with { desk in
      let text = try await desk.run("profile", "check")
      #expect(text.status == 0 && text.stdout == "")
      let json = try await desk.run("profile", "check", "--json")
      #expect(json.status == 0 && json.stdout == "[]\n")
      #expect(desk.everything.isEmpty)
    }
  }

  /// An unreadable profile does not hide the mistakes of the others.
  @Test(arguments: ["no such profile", "writable by others", "not UTF-8", "a folder"])
  func oneThatCannotBeRead(_ what: String) async throws {
    try await ProfileDesk.with { desk in
      try desk.write("bad", Self.bad)
      let path = try desk.write("a", Self.good)
      var says = "no profile called nobody"
      switch what {
      case "writable by others":
        chmod(path, 0o602)
        says = "\(ProfileDesk.shown("a")) is writable by other users\nhint: chmod go-w \(path)\n"
      case "not UTF-8":
        let run = try await desk.box.run(
          "-c", #"printf '\377' >>"$1""#, "sh", path, program: "/bin/sh")
        #expect(run.status == 0)
        says = "\(ProfileDesk.shown("a")) is not UTF-8"
      case "a folder":
        #expect(unlink(path) == 0 && mkdir(path, 0o700) == 0)
        says = "\(ProfileDesk.shown("a")) is not a regular file"
      default: break
      }
      let names = what == "no such profile" ? ["nobody", "bad"] : []
      let run = try await desk.run(["profile", "check", "-q"] + names)
      #expect(run.status == 2 && run.stdout == "")
      #expect(run.stderr.contains("authctl: " + says), "\(run.stderr)")
      #expect(run.stderr.contains(Self.told(ProfileDesk.shown("bad"))), "\(run.stderr)")
      let json = try await desk.run(["profile", "check", "--json", "-q"] + names)
      #expect(json.status == 2)
      let results = (try? JSON(parsing: json.stdout))?.elements ?? []
      #expect(results.contains { $0["name"] == "bad" && $0["mistakes"]?.elements.count == 3 })
    }
  }

  @Test func standardInputIsNotRead() async throws {
    try await withThree { desk in
      for names in [[], ["good"], ["bad", "good"]] {
        let child = try desk.box.start(
          ["profile", "check"] + names, keepInputOpen: true, env: ProfileDesk.home)
        #expect(try await child.finish().status == (names == ["good"] ? 0 : 2))
      }
      try await desk.expectRefusal(
        ["profile", "check", "-"], "\"-\" is not a profile name", mend: "letters",
        stdin: Self.good)
      try await desk.expectRefusal(["profile", "check", "../good"], "no such file: ../good")
    }
  }

  @Test func mistakesInConfig() async throws {
    try await ProfileDesk.with { desk in
      try desk.write("good", Self.good)
      try desk.box.write(
        ProfileDesk.folder + "config.toml",
        "# mine\ndefalt_profile = \"good\"\nstore = 1\nlock_timeout = 0\n")
      let config = "~/.config/authctl/config.toml"
      let run = try await desk.run("profile", "check")
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == """
          good: no mistakes
          authctl: \(config):2:1: unknown key defalt_profile
          hint: did you mean default_profile?
          authctl: \(config):3:1: store: must be a string
          authctl: \(config):4:1: lock_timeout: must be more than 0 and at most 86400 seconds

          """)
      // A failing exit code comes with the mistakes, in JSON too.
      let json = try await desk.run("profile", "check", "--json", "-q")
      #expect(json.status == 2)
      let said = json.stdout + json.stderr
      #expect(said.contains("config.toml:2:1: unknown key defalt_profile"), "\(said)")
      #expect((try? JSON(parsing: json.stdout)) != nil)
      // A named profile is checked by itself.
      let one = try await desk.run("profile", "check", "good")
      #expect(one.status == 0 && one.stderr == "good: no mistakes\n", "\(one.stderr)")
    }
  }

  // MARK: show

  @Test func showTellsWhereConstantsComeFrom() async throws {
    try await ProfileDesk.with { desk in
      try desk.write(
        "pocket",
        "url = \"https://h.example\"\npreset = \"pocketbase\"\n[vars]\ntenant = \"acme\"\n")
      func shown() async throws -> [String: JSON] {
        let run = try await desk.run("profile", "show", "pocket", "--json")
        #expect(run.status == 0 && run.stderr == "")
        let value = try JSON(parsing: run.stdout)
        #expect(value.keys == ["file", "name", "values"] && value["name"] == "pocket")
        #expect(
          value["file"]
            == .string(desk.box.home + "/.config/authctl/profiles/pocket.toml"))
        let values = value["values"]?.elements ?? []
        #expect(values.allSatisfy { $0.keys == ["key", "source", "value"] })
        let pairs = values.compactMap { entry in entry["key"]?.string.map { ($0, entry) } }
        return Dictionary(uniqueKeysWithValues: pairs)
      }
      let before = try await shown()
      func expect(_ shown: [String: JSON], _ key: String, _ value: JSON, _ source: String) {
        #expect(shown[key]?["value"] == value, "\(key)")
        #expect(shown[key]?["source"] == .string(source), "\(key)")
      }
      expect(before, "vars.collection", "users", "preset pocketbase")
      expect(before, "vars.tenant", "acme", "profile")
      expect(before, "session.access_token", ["/token"], "preset pocketbase")
      expect(before, "request.headers", ["Authorization": "{access_token}"], "preset pocketbase")
      expect(before, "login.method", "POST", "built in")
      expect(before, "session.expired", [401], "built in")
      expect(before, "url", "https://h.example", "profile")
      expect(before, "preset", "pocketbase", "profile")
      #expect(before.keys.allSatisfy { !$0.hasPrefix("detect.") }, "that is not of the recipe")
      let set = try await desk.run(
        "profile", "set", "pocket", "vars.collection=staff", "session.expired=[401, 403]")
      #expect(set.status == 0, "\(set.stderr)")
      let after = try await shown()
      expect(after, "vars.collection", "staff", "profile")
      expect(after, "session.expired", [401, 403], "profile")
      expect(after, "vars.tenant", "acme", "profile")
      #expect(after.count == before.count)
      let text = try await desk.run("profile", "show", "pocket", "--all").stdout
      #expect(text.contains(/\nvars\.collection = "staff" +# profile\n/), "\(text)")
      #expect(text.contains(/\nsession\.access_token = \["\/token"\] +# preset pocketbase\n/))
      #expect(text.contains(/\nlogin\.method = "POST" +# built in\n/))
    }
  }

  // MARK: list

  @Test func listTellsPresetsAccountsAndStates() async throws {
    try await Shop.with("--token-ttl", "900") { shop, api in
      let box = shop.box
      try await shop.signIn(Shop.grace, password: Shop.gracePassword)
      try box.profile("a.b-c", "url = \"https://h.example/v2\"\npreset = \"gitea\"\n")
      func list(_ words: String...) async throws -> String {
        let run = try await box.run(["profile", "list"] + words)
        #expect(run.status == 0 && run.stderr == "")
        return run.stdout
      }
      #expect(
        try await list() == """
            NAME   PRESET  ACCOUNTS  STATE       URL
            a.b-c  gitea   0         signed out  https://h.example/v2
          * shop   -       2         valid       \(api.url)

          """)
      let json = try JSON(parsing: try await list("--json"))
      #expect(
        json == [
          [
            "name": "a.b-c", "url": "https://h.example/v2", "preset": "gitea", "default": false,
            "account": nil, "accounts": [], "state": "signed out",
          ],
          [
            "name": "shop", "url": .string(api.url), "preset": nil, "default": true,
            "account": .string(Shop.ada),
            "accounts": [.string(Shop.ada), .string(Shop.grace)], "state": "valid",
          ],
        ])
      // The best state of its sessions is the profile's state.
      try await shop.age(ended: 10)
      #expect(try await list().contains(/shop +- +2 +valid +http/))
      try await shop.age(Shop.grace, ended: 10)
      #expect(try await list().contains(/shop +- +2 +refreshable +http/))
      #expect(try await box.run("profile", "default", "shop").status == 0)
      #expect(try await list().contains(/\n\* shop +- +2 +refreshable +http/))
      #expect(try JSON(parsing: try await list("--json"))[1]?["default"] == true)
    }
  }
}
