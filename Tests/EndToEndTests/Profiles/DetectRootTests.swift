import Testing

/// The address of a page: the root of its origin is looked at, too.
@Suite struct DetectRootTests {
  @Test(arguments: ["/app/page", "/login/help", "/v2"])
  func anAddressWithAPathIsLookedAtFromItsRoot(path: String) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Look.serving(
          Look.document(Look.post("/login", answer: #"{"properties":{"token":{}}}"#))))
      let run = try await box.run("profile", "detect", api.url + path)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(
        run.stdout.contains(
          "\nNext: authctl profile add \(api.profileName) \(api.url) --preset json "))
      let asked = Look.asked(api)
      #expect(asked.first == "GET \(path)" && asked.contains("GET /openapi.json"))
      #expect(asked.count <= 18)
    }
  }

  /// What is below the path counts before the root, and a root that shows nothing changes nothing.
  @Test func whatIsThereComesFirst() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(
        answering: Scene.routes([
          "GET /v2/openapi.json": .http(200, Look.document(Look.post("/sign_in")))
        ]))
      let run = try await box.run("profile", "detect", api.url + "/v2")
      #expect(run.status == 0 && !Look.asked(api).contains("GET /openapi.json"))
      let none = try await box.run("profile", "detect", api.url + "/v3")
      #expect(none.status == 1 && none.stdout == "")
      #expect(none.stderr.contains("\nauthctl: the API at \(api.url)/v3 was not recognized ("))
      #expect(none.stderr.contains("Tried: GET /v3: 404\n"), "\(none.stderr)")
      #expect(none.stderr.contains("Tried: GET /: 404\n"), "\(none.stderr)")
    }
  }
}
