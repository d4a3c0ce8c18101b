import Testing

/// man/*.1 and the help that they are generated from (`make docs`).
@Suite struct ManualPagesTests {
  private static let pages = Source.names(in: "man").filter { $0.hasSuffix(".1") }

  @Test func pagesAreWhatTheProgramSays() async throws {
    try await Sandbox.with(.none) { box in
      let folder = box.home + "/man"
      let made = try await box.run(
        "-c", "mkdir \"$2\" && exec \"$0\" \"$1\" \"$2\"", "\(Source.root)/man/pages.sh",
        try Built.authctl(), folder, program: "/bin/sh")
      #expect(made.status == 0 && made.stderr == "" && made.stdout == "")
      let names = box.files().filter { $0.hasPrefix("home/man/") }.map { String($0.dropFirst(9)) }
      #expect(names.sorted() == Self.pages, "make docs")
      for name in names {
        let isSame = try box.read("home/man/\(name)") == Source.text("man/\(name)")
        #expect(isSame, "man/\(name) differs from what authctl says: make docs")
      }
    }
  }

  @Test func pagesAreCleanAndReferToEachOther() async throws {
    try await Sandbox.with(.none) { box in
      let files = Source.names(in: "man").filter { $0.hasSuffix(".1") || $0.hasSuffix(".5") }
      let lint = try await box.run(
        ["-Tlint", "-Wwarning"] + files, program: "/usr/bin/mandoc",
        directory: "\(Source.root)/man")
      #expect(lint.status == 0 && lint.stdout == "" && lint.stderr == "", "\(lint.stdout)")
      for file in files {
        for match in try Source.text("man/\(file)").matches(
          of: /\.(?:It )?Xr (authctl[a-z-]*) (\d)/)
        {
          #expect(files.contains("\(match.1).\(match.2)"), "\(file) refers to \(match.0)")
        }
      }
    }
  }

  /// groff's own title for the first section is "BSD General Commands Manual".
  @Test func pagesNameTheirOwnVolume() async throws {
    try await Sandbox.with(.none) { box in
      for page in ["authctl.1", "authctl-get.1", "authctl-profile.5"] {
        let shown = try await box.run(
          "-l", "\(Source.root)/man/\(page)", env: ["MANWIDTH": "80", "MAN_KEEP_FORMATTING": nil],
          program: "/usr/bin/man")
        let lines = shown.stdout.split(separator: "\n")
        #expect(shown.status == 0 && lines.first?.contains("  authctl manual  ") == true, "\(page)")
        #expect(lines.last?.hasPrefix("authctl  ") == true && !shown.stdout.contains("BSD"))
      }
    }
  }

  @Test func examplesOfProfilesHaveNoMistakes() async throws {
    try await Sandbox.with(.none) { box in
      let blocks = ShellBlock.all(inPage: try Source.text("man/authctl-profile.5"))
      #expect(blocks.count > 6)
      try box.write("home/corp-ca.pem", "")
      for block in blocks {
        try box.write("home/example.toml", block.text + "\n")
        let run = try await box.run("profile", "check", "./example.toml")
        #expect(
          run.status == 0 && run.stdout == "" && run.stderr == "./example.toml: no mistakes\n",
          "line \(block.line): \(run.stderr)")
      }
    }
  }

  /// Help of every command and topic: ASCII, 79 columns, and examples that are not wrapped.
  @Test func helpFitsEightyColumns() async throws {
    try await Sandbox.with(.none) { box in
      var lines = Self.pages.map { page -> [String] in
        let name = String(page.dropFirst("authctl-".utf8.count).dropLast(2))
        return name.isEmpty ? [] : [name]
      }
      // authctl-profile-add is `profile add`, authctl-helper-curl-config is `helper curl-config`.
      lines = lines.compactMap { words in
        guard let name = words.first else { return nil }
        for group in ["profile", "helper", "store", "jwt"] where name.hasPrefix(group + "-") {
          return [group, String(name.dropFirst(group.utf8.count + 1))]
        }
        return words
      }
      lines += [
        ["ci"], ["environment"], ["exit-codes"], ["oauth"], ["pages"], ["recipes"], ["retry"], [],
      ]
      for line in lines {
        let run = try await box.run(["help"] + line)
        #expect(run.status == 0 && run.stderr == "", "\(line)")
        #expect(run.stdout.utf8.allSatisfy { $0 < 0x7F }, "\(line)")
        let wide = run.stdout.split(separator: "\n").filter { $0.utf8.count > 79 }
        #expect(wide == [], "help \(line)")
        let examples = run.stdout.split(separator: "\n", omittingEmptySubsequences: false)
          .drop { $0 != "Examples:" }.dropFirst().prefix { !$0.isEmpty }
        #expect(examples.allSatisfy { $0.hasPrefix("  ") }, "broken example: help \(line)")
        // The command's own options come before the global ones.
        let titles = run.stdout.split(separator: "\n").filter { $0.hasSuffix("OPTIONS:") }
        let isGroup = run.stdout.contains("\nSUBCOMMANDS:\n")
        if run.stdout.hasPrefix("OVERVIEW: "), !isGroup {
          #expect(titles.first == "OPTIONS:" && titles.last == "GLOBAL OPTIONS:", "help \(line)")
        }
      }
    }
  }

  @Test func helpNamesEveryCommandAndTopic() async throws {
    try await Sandbox.with(.none) { box in
      let help = try await box.run("help")
      #expect(help.status == 0 && help.stderr == "")
      #expect(try await box.run("--help").stdout == help.stdout)
      let rows = help.stdout.split(separator: "\n").filter { $0.hasPrefix("  ") }
      for page in Self.pages where page != "authctl.1" {
        let name = page.dropFirst("authctl-".utf8.count).dropLast(2)
        let isBelow = ["profile-", "helper-", "store-", "jwt-"].contains { name.hasPrefix($0) }
        let row = rows.first { $0.hasPrefix("  \(name) ") }
        #expect(isBelow || row?.split(separator: " ").count ?? 0 > 2, "\(name)")
      }
      for (asked, said) in [
        ("lgoin", "login"), ("exit-code", "exit-codes"), ("recipies", "recipes"),
        ("profle", "profile"),
      ] {
        let run = try await box.run("help", asked)
        #expect(run.status == 2 && run.stdout == "")
        #expect(run.stderr == "authctl: unknown command \(asked)\nhint: did you mean \(said)?\n")
      }
    }
  }

  /// The topics document every variable and every exit code.
  @Test func topicsHaveEveryVariableAndEveryCode() async throws {
    try await Sandbox.with(.none) { box in
      let list = try Source.text("Sources/AuthKit/Base/Variable.swift")
      let names = Set(list.matches(of: /case \w+ = "(\w+)"/).map(\.1))
      #expect(names.count > 20)
      let environment = try await box.run("help", "environment").stdout
      let named = environment.matches(of: /AUTHCTL_\w+|CREDENTIALS_DIRECTORY/).map(\.0)
      #expect(Set(named) == names)
      let table = try Source.text("Sources/AuthKit/Base/Failure.swift")
      let codes = table.matches(of: /case (?:\.\w+,? ?)+: (\d+)/).map(\.1)
      #expect(codes.count == 15)
      let told = try await box.run("help", "exit-codes").stdout
      for code in codes {
        #expect(told.contains(try Regex("\n  (3, )?(4, )?\(code)[ ,]")), "\(code)")
      }
    }
  }

  // MARK: On a terminal

  /// A program that prints its arguments, the first line of its input, and any password in its
  /// environment.
  private static let spy = """
    #!/bin/sh
    echo "${0##*/}: $*"
    cat | head -n 1
    echo "LESS=$LESS password=$AUTHCTL_PASSWORD"

    """

  private func install(_ box: Sandbox, page: Bool) async throws -> String {
    try box.write("usr/share/man/man1/authctl-login.1\(page ? "" : "x")", ".Dd today\n")
    try box.write("programs/man", Self.spy, mode: 0o700)
    try box.write("programs/pager", Self.spy, mode: 0o700)
    let copy = try await box.run(
      "-c", "mkdir -p \"$1\" && cp \"$0\" \"$1/authctl\"", try Built.authctl(),
      box.root + "/usr/bin", program: "/bin/sh")
    #expect(copy.status == 0, "\(copy.stderr)")
    return box.root + "/usr/bin/authctl"
  }

  @Test func helpOnATerminalIsTheInstalledPage() async throws {
    try await Sandbox.with(.none) { box in
      let program = try await install(box, page: true)
      let environment: [String: String?] = [
        "PATH": "\(box.root)/programs:/usr/bin:/bin", "PAGER": "pager",
        "AUTHCTL_PASSWORD": box.canary.make("password"),
      ]
      let shown = try await box.terminal(
        ["help", "login"], answers: [("authctl-login", "\u{4}")], env: environment, program: program
      )
      #expect(shown.status == 0)
      #expect(
        shown.screen.hasPrefix("man: -M \(box.root)/usr/share/man 1 authctl-login\n"),
        "\(shown.screen)")
      #expect(shown.screen.contains("password=\n"))
      // Without a terminal, and for topics without a page, help prints text.
      let text = try await box.run(["help", "login"], env: environment, program: program).stdout
      #expect(text.hasPrefix("OVERVIEW: Sign in"))
      for words in [["help", "logout"], ["help", "exit-codes"], ["help"]] {
        let plain = try await box.run(words, env: environment, program: program).stdout
        let first = plain.split(separator: "\n").first ?? ""
        let paged = try await box.terminal(words, env: environment, program: program)
        #expect(paged.status == 0)
        #expect(paged.screen == "pager: \n\(first)\nLESS=FRX password=\n", "\(words)")
      }
      let asked = try await box.terminal(
        ["login", "--help"], answers: [("authctl-login", "\u{4}")], env: environment,
        program: program)
      #expect(asked.status == 0)
      #expect(asked.screen == shown.screen)
    }
  }

  @Test func helpNeedsNeitherManNorPager() async throws {
    try await Sandbox.with(.none) { box in
      let program = try await install(box, page: true)
      let text = try await box.run(["help", "login"], program: program).stdout
      for environment in [["PATH": "/nowhere"], ["PATH": "/nowhere", "PAGER": ""]] {
        let shown = try await box.terminal(["help", "login"], env: environment, program: program)
        #expect(shown.status == 0 && shown.screen == text)
      }
    }
  }
}
