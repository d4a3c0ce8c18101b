import Testing

/// `-h`: one screen for each command. `--help` and `help COMMAND`: all of it, on a terminal the
/// manual page or a pager (`ManualPagesTests`).
@Suite struct HelpScreenTests {
  /// The words of every command and group, by the manual pages.
  private static var commands: [[String]] {
    let groups = ["profile", "helper", "store", "jwt"]
    return Source.names(in: "man").filter { $0.hasPrefix("authctl-") && $0.hasSuffix(".1") }
      .map { page in
        let name = String(page.dropFirst("authctl-".utf8.count).dropLast(2))
        let group = groups.first { name.hasPrefix($0 + "-") }
        return group.map { [$0, String(name.dropFirst($0.utf8.count + 1))] } ?? [name]
      }
  }

  @Test func eachCommandHasOneScreen() async throws {
    try await Sandbox.with(.none) { box in
      #expect(Self.commands.count > 40)
      for words in Self.commands + [[]] {
        let run = try await box.run(words + ["-h"])
        let name = words.joined(separator: " ")
        #expect(run.status == 0 && run.stderr == "", "\(name)")
        let lines = run.stdout.split(separator: "\n", omittingEmptySubsequences: false)
        // With the prompt below it, on a terminal of 24 lines.
        #expect(lines.count <= 24, "\(name): \(lines.count)")
        #expect(lines.allSatisfy { $0.utf8.count <= 79 }, "\(name)")
        #expect(run.stdout.utf8.allSatisfy { $0 < 0x7F }, "\(name)")
        #expect(run.stdout.contains("\nUsage: authctl \(name)"), "\(name)")
        #expect(run.stdout.contains("\n  authctl help \(name)"), "\(name)")
        // The same wherever it is printed.
        if words == ["get"] {
          #expect(try await box.terminal(words + ["-h"]).screen == run.stdout)
          #expect(try await box.run(["-h", "get"]).stdout != run.stdout)
          #expect(try await box.run(["get", "/x", "-q", "-h"]).stdout == run.stdout)
        }
        let options = lines.drop { $0 != "Options:" }.dropFirst().prefix { !$0.isEmpty }
        let long = try await box.run(words + ["--help"]).stdout
        #expect(options.count <= 12)
        for option in options {
          let label = option.dropFirst(2).prefix { $0 != " " }
          #expect(long.contains("\n  \(label) "), "\(name): \(label)")
        }
        let examples = lines.drop { $0 != "Examples:" }.dropFirst().prefix { !$0.isEmpty }
        #expect(examples.filter { !$0.hasPrefix("   ") }.count <= 3, "\(name)")
      }
    }
  }

  /// A name that is no option would only be left out.
  @Test func screensNameOptionsThatExist() async throws {
    try await Sandbox.with(.none) { box in
      let source = try Source.text("Sources/authctl/Help/ShortHelp.swift")
      let names = Set(source.matches(of: /"(--[a-z-]+)"/).map { String($0.1) })
      #expect(names.count > 40)
      var long = ""
      for words in Self.commands { long += try await box.run(words + ["--help"]).stdout }
      for name in names where name != "--help" { #expect(long.contains("\(name) "), "\(name)") }
    }
  }

  @Test func helpIsTheLongForm() async throws {
    try await Sandbox.with(.none) { box in
      for words in [["get"], ["profile"], ["profile", "show"]] {
        let long = try await box.run(words + ["--help"])
        #expect(long.status == 0 && long.stderr == "" && long.stdout.hasPrefix("OVERVIEW: "))
        #expect(try await box.run(["help"] + words).stdout == long.stdout)
        #expect(try await box.run(words + ["-h", "--help"]).stdout == long.stdout)
      }
      let get = try await box.run("get", "--help").stdout
      for title in ["OPTIONS:", "QUERY:", "ANSWER:", "PAGES:", "RETRIES:", "NETWORK:"] {
        #expect(get.contains("\n\(title)\n"))
      }
    }
  }

  /// Without a page: `PAGER`, less if that is unset, or nothing in between.
  @Test func helpIsPagedOnATerminal() async throws {
    try await Sandbox.with(.none) { box in
      let long = try await box.run("get", "--help").stdout
      try box.write("programs/less", "#!/bin/sh\necho \"less: $LESS\"\nexec cat\n", mode: 0o700)
      try box.write("programs/mine", "#!/bin/sh\necho mine\nexec cat\n", mode: 0o700)
      let path = "\(box.root)/programs:/usr/bin:/bin"
      for (pager, first) in [(nil, "less: FRX\n"), ("mine", "mine\n"), ("", "")] {
        for words in [["get", "--help"], ["help", "get"]] {
          let shown = try await box.terminal(words, env: ["PATH": path, "PAGER": pager])
          #expect(shown.status == 0 && shown.screen == first + long, "\(pager ?? "-")")
        }
      }
      let plain = try await box.terminal(["get", "--help"], env: ["PATH": "/nowhere"])
      #expect(plain.status == 0 && plain.screen == long)
    }
  }
}
