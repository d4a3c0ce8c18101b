import Glibc
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

  /// From the description that detection has read: nothing is requested at TAB.
  @Test func pathsOfTheAPI() async throws {
    let document = Look.document(
      #""/orders":{"get":{"parameters":[{"in":"query","name":"page"}]},"post":{}},"#
        + #""/orders/{id}/items":{"get":{}},"/reports":{"put":{}},"/a\u001b]b":{"get":{}}"#,
      #""servers":[{"url":"/v1"}]"#)
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Look.serving(document))
      // It names no sign-in, and is kept all the same.
      #expect(try await box.run("profile", "detect", api.url).status == 1)
      for (name, url) in [("shop", api.url), ("one", api.url + "/v1"), ("other", api.url + "/v2")] {
        try box.write("config/authctl/profiles/\(name).toml", "url = \"\(url)\"\n")
      }
      let seen = api.connections.count
      let cases: [([String], [String])] = [
        (["get", "-p", "shop", ""], ["/v1/orders", "/v1/orders/"]),
        (["get", "-p", "one", "/o"], ["/orders", "/orders/"]),
        (["get", "-p", "one", "/orders/7/"], ["/orders/7/items"]),
        (["head", "-p", "one", "/orders?"], ["/orders?page="]),
        (["get", "-p", "one", #"/orders\?p"#], ["/orders?page="]),
        (["post", "-p", "one", "/"], ["/orders"]), (["put", "-p", "one", ""], ["/reports"]),
        (["request", "-p", "one", "PUT", ""], ["/reports"]), (["patch", "-p", "one", ""], []),
        (["helper", "curl-config", "-p", "one", "/r"], ["/reports"]),
        (["get", "-p", "other", ""], []), (["get", "-p", "one", "http"], []),
        (["get", "-p", "one", "/orders", ""], []),
      ]
      for (words, wanted) in cases {
        #expect(try await offered(box, words) == wanted, "\(words)")
      }
      #expect(api.connections.count == seen)
      let files = box.files().filter { $0.hasPrefix("cache/") }
      #expect(files.count == 2)
      for file in files {
        var info = stat()
        #expect(lstat(box.root + "/" + file, &info) == 0 && info.st_mode & 0o777 == 0o600)
      }
      // With the last profile that has use for it, it goes.
      for (name, left) in [("other", 2), ("one", 2), ("shop", 1)] {
        #expect(try await box.run("profile", "remove", name).status == 0)
        #expect(box.files().filter { $0.hasPrefix("cache/") }.count == left, "\(name)")
      }
    }
  }

  /// A cache that cannot be written or read stops nothing.
  @Test func cachesOfOthers() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Look.serving(Look.document(#""/orders":{"get":{}}"#)))
      try box.write("config/authctl/profiles/shop.toml", "url = \"\(api.url)\"\n")
      chmod(box.cacheHome, 0o777)
      mkdir(box.cacheHome + "/authctl", 0o700)
      mkdir(box.cacheHome + "/authctl/paths", 0o777)
      chmod(box.cacheHome + "/authctl/paths", 0o777)
      for env: [String: String?] in [[:], ["XDG_CACHE_HOME": "/proc/none"]] {
        let run = try await box.run("profile", "detect", api.url, env: env)
        #expect(run.status == 1 && run.stdout == "")
        #expect(try await offered(box, ["get", ""], env: env) == [])
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
