import Testing

/// The output of `authctl __complete`. `ShellCompletionTests` tests it in the shells.
@Suite struct CompletionTests {
  private func offered(
    _ box: Sandbox, _ words: [String], env: [String: String?] = [:]
  ) async throws -> [String] {
    let run = try await box.run(["__complete", "--"] + words, env: env)
    #expect(run.status == 0 && run.stderr == "", "\(words): \(run.stderr)")
    return run.stdout.split(separator: "\n").map(String.init)
  }

  private func names(_ box: Sandbox, _ words: String...) async throws -> [String] {
    try await offered(box, words).map { String($0.prefix { $0 != "\t" }) }
  }

  private func profiles(_ box: Sandbox) throws {
    for name in ["shop", "school"] {
      try box.write(
        "config/authctl/profiles/\(name).toml",
        "url = \"http://127.0.0.1:1\"\naccount = \"\(name)@example.com\"\n")
    }
  }

  @Test func commandsAndOptions() async throws {
    try await Sandbox.with(.none) { box in
      #expect(try await offered(box, ["logi"]) == ["login\tSign in and store the session."])
      #expect(try await names(box, "-q", "profile", "de") == ["default", "detect"])
      #expect(try await names(box, "help", "profile", "de") == ["default", "detect"])
      #expect(try await names(box, "help", "e") == ["exec", "environment", "exit-codes"])
      #expect(try await names(box, "get", "--ign") == ["--ignore-status"])
      #expect(try await names(box, "--no") == ["--no-input"])
      #expect(try await names(box, "get", "-i", "/x", "--ign") == ["--ignore-status"])
      for words in [
        ["nothing", ""], ["profile", "-"], ["get", "--", "-"], ["help", "login", ""],
        ["get", "/x", ""],
        ["get", "--silen"], [],
      ] {
        #expect(try await offered(box, words) == [], "\(words)")
      }
      // Every command that is not hidden is offered with a summary.
      let commands = try await offered(box, [""])
      #expect(commands.allSatisfy { $0.contains("\t") }, "\(commands)")
    }
  }

  @Test func values() async throws {
    try await Sandbox.with(.none) { box in
      try profiles(box)
      let stores = ["secret-service", "file", "plaintext"]
      let cases: [([String], [String])] = [
        (["--store", ""], stores), (["get", "--store", "f"], ["file"]),
        (["status", "--store=p"], ["--store=plaintext"]), (["get", "--errors", "j"], ["json"]),
        (["store", "migrate", "--to", "f"], ["file"]), (["-p", "s"], ["school", "shop"]),
        (["get", "-psh"], ["-pshop"]),
        (["get", "--profile=sc"], ["--profile=school"]), (["profile", "show", "sh"], ["shop"]),
        (["profile", "add", "s"], []), (["profile", "add", "x", "--like", "sc"], ["school"]),
        (["login", "--preset", "express-j"], ["express-jwt"]),
        (["profile", "presets", "vapor-b"], ["vapor-basic"]),
        (["profile", "set", "shop", "login.pa"], ["login.path="]),
        (["login", "--set", "whoami.me"], ["whoami.method="]),
        (["get", "-H", "Content-T"], ["Content-Type:"]),
        (["get", "-HIf-R"], ["-HIf-Range:"]),
        (["request", "PO"], ["POST"]), (["get", "-u", ""], []), (["status", "--min-ttl", ""], []),
        (["get", "-p", "shop", "-u", ""], ["shop@example.com"]),
        (["get", "-p", "school", "-u", "x"], []),
      ]
      for (words, wanted) in cases {
        let found = try await offered(box, words).map { String($0.prefix { $0 != "\t" }) }
        #expect(found == wanted, "\(words)")
      }
    }
  }

  @Test func filesAndPrograms() async throws {
    try await Sandbox.with(.none) { box in
      let cases: [([String], String)] = [
        (["get", "-o", "re"], "\tfiles\t"), (["get", "--output=re"], "\tfiles\t--output="),
        (["get", "-ore"], "\tfiles\t-o"), (["get", "-d", "@re"], "\tfiles\t@"),
        (["post", "/x", "--json", "@"], "\tfiles\t@"), (["post", "/x", "-d@"], "\tfiles\t-d@"),
        (["get", "-H", "@h"], "\tfiles\t@"), (["profile", "import", "x", ""], "\tfiles\t"),
        (["login", "--from-curl", ""], "\tfiles\t"), (["get", "-p", "./"], "\tfiles\t"),
        (["login", "--password-file", "x"], "\tfiles\t"), (["jwt", "decode", ""], "\tfiles\t"),
        (["exec", "--", "m"], "\tcommands\t"), (["exec", "--", "make", "x"], "\tfiles\t"),
      ]
      for (words, wanted) in cases {
        let found = try await offered(box, words)
        #expect(found == [wanted], "\(words)")
      }
    }
  }

  @Test func accountsOfTheProfile() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      for name in ["shop", "school"] {
        try box.write(
          "config/authctl/profiles/\(name).toml", "url = \"\(api.url)\"\npreset = \"json\"\n")
      }
      for (profile, account, password) in [
        ("shop", "ada@example.com", "correct horse battery"),
        ("shop", "grace@example.com", "s3cret|with|pipes"),
        ("school", "ada@example.com", "correct horse battery"),
      ] {
        let run = try await box.run(
          ["login", "-p", profile, "-u", account, "--password-stdin"], stdin: password + "\n")
        #expect(run.status == 0, "\(run.stderr)")
      }
      let before = try await api.counts()
      #expect(
        try await names(box, "get", "-p", "shop", "-u", "")
          == ["ada@example.com", "grace@example.com"])
      #expect(try await names(box, "get", "-p", "shop", "-ug") == ["-ugrace@example.com"])
      #expect(try await names(box, "logout", "--profile=school", "-u", "") == ["ada@example.com"])
      #expect(try await names(box, "get", "--store", "file", "-p", "shop", "-u", "g") == [])
      #expect(try await api.counts() == before)

      // A locked or missing store causes neither a prompt nor an error.
      try await box.lockKeyring()
      #expect(
        try await names(box, "get", "-p", "shop", "-u", "g") == ["grace@example.com"])
      try await box.killKeyring()
      #expect(try await names(box, "get", "-p", "school", "-u", "a") == ["ada@example.com"])
    }
  }

  /// The dynamic linker can log every library it opens:
  /// https://man7.org/linux/man-pages/man8/ld.so.8.html
  @Test func opensNoLibraryForNames() async throws {
    try await Sandbox.with(.none) { box in
      try profiles(box)
      for words in [["get", "-p", ""], ["get", "-"], ["login", "--preset", ""]] {
        let run = try await box.run(["__complete", "--"] + words, env: ["LD_DEBUG": "files"])
        #expect(run.stderr.contains("libc.so"))
        #expect(!run.stderr.contains("libcurl") && !run.stderr.contains("libsecret"), "\(words)")
      }
    }
  }
}
