import Testing

@testable import authctl

/// `UsualRequest`: it changes nothing but the time that a call takes.
@Suite struct UsualRequestTests {
  /// Calls for the parser of few options; some are wrong, or not for it after all.
  private static let calls: [[String]] = [
    ["get", "/me"], ["-p", "shop", "-v", "get", "/me"], ["-q", "get", "/me?a=1"],
    ["get", "/a", "-d", "x=1", "-d", "y=2", "-G"], ["get", "/a", "--field", "n=7"],
    ["post", "/a", "-dx=1"], ["post", "/a", "-H", "X-A: 1", "-HX-B: 2", "-A", "me", "-b", "c=d"],
    ["put", "/a", "--input", "/dev/null"], ["patch", "/a", "--json", "{}"], ["delete", "/a/1"],
    ["head", "/a"], ["get", "-I", "/a"], ["get", "-X", "PUT", "/a"], ["get", "--", "/a"],
    ["get", "/a", "-ik"], ["get", "/a", "-m5"], ["get", "/a", "--each", ""], ["get"],
    ["get", "/a", "/b"], ["get", "/a", "--nothing"], ["get", "/a", "-H"],
    ["get", "/a", "--max-redirs", "x"], ["get", "/a", "--retry"], ["head", "/a", "--jq", "."],
    ["post", "/a", "--json", "{"], ["get", "/a", "--ok", "9"],
  ]

  @Test func bothParsersMakeTheSameOfACall() async throws {
    try await Sandbox.with(.none) { box in
      try box.profile("shop", "url = \"https://api.example\"\n")
      let env: [String: String?] = ["AUTHCTL_TOKEN": box.canary.make("token")]
      for call in Self.calls {
        let verb = try #require(call.firstIndex { !["-p", "-v", "-q", "shop"].contains($0) })
        var usual = call
        usual.insert("--dry-run", at: verb + 1)
        var rare = usual
        // The default, but an option that only the other parser has.
        rare.insert("--tlsv1.2", at: verb + 1)
        let (first, second) = (
          try await box.run(usual, env: env), try await box.run(rare, env: env)
        )
        #expect(first.stdout == second.stdout, "\(call)")
        #expect(first.stderr == second.stderr, "\(call)")
        #expect(first.status == second.status, "\(call)")
      }
    }
  }

  /// An option that is missing in the list would be parsed twice.
  @Test func listHasTheRareOptions() throws {
    var isRare = false
    var names: Set<String> = []
    for line in try Source.text("man/authctl-get.1").split(separator: "\n") {
      if line.hasPrefix(".S") {
        isRare = [".Ss Pages", ".Ss Retries", ".Ss Network"].contains(line)
      }
      let words = line.split(separator: " ")
      guard isRare, words.first == ".It" else { continue }
      for (word, name) in zip(words, words.dropFirst()) where word == "Fl" {
        names.insert("-" + name)
      }
    }
    #expect(names.count == 36)
    #expect(UsualRequest.rare == names)
  }
}
