import Testing

/// Tests of the harness's server: DemoAPI in its own process.
@Suite struct ServerTests {
  @Test func countsMisbehavesResetsAndDies() async throws {
    try await Sandbox.with(.none) { box in
      let api = try await box.api("--token-ttl", "2")
      func get() async throws -> Run {
        try await box.run(
          "-s", "-w", " %{http_code}", api.url + "/nothing", program: "/usr/bin/curl")
      }
      #expect(try await get().stdout.hasSuffix(" 404"))
      #expect(try await api.count("GET /nothing") == 1)
      try await api.misbehave(["path": "/nothing", "times": 1, "status": 503])
      #expect(try await get().stdout.hasSuffix(" 503"))
      #expect(try await get().stdout.hasSuffix(" 404"))
      #expect(try await api.counts().keys == ["GET /nothing"])
      #expect(try await api.requests().first?["method"] == "GET")
      try await api.reset()
      #expect(try await api.count("GET /nothing") == 0)
      await api.stop()
      #expect(try await get().status == 7)
    }
  }
}
