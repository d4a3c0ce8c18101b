import Testing

/// A refresh token that the profile does not use: `login` and `refresh` say how to use it.
@Suite struct UnusedRefreshTokenTests {
  static let command = "authctl profile set shop refresh.path=/PATH"

  @Test func isToldAndServesOnceThePathIsSet() async throws {
    try await Shop.with(without: ["refresh"], signsIn: false) { shop, api in
      let run = try await shop.login()
      #expect(run.status == 0)
      #expect(
        run.stderr.contains(
          "\nThe answer has a refresh token; set refresh.path to renew.\nhint: \(Self.command)\n"
            + "Next: "), "\(run.stderr)")
      let refused = try await shop.box.run("refresh")
      #expect(refused.status == 11 && refused.stdout == "")
      #expect(
        refused.stderr == """
          authctl: shop: session of \(Shop.ada) cannot be renewed: it has a refresh token, but refresh.path is not set
          hint: \(Self.command)

          """)
      // The hint's command, as printed but for the path; no new sign-in is necessary.
      let set = try await shop.box.run("profile", "set", "shop", "refresh.path=/refresh")
      #expect(set.status == 0, "\(set.stderr)")
      let renewed = try await shop.box.run("refresh")
      #expect(renewed.status == 0, "\(renewed.stderr)")
      #expect(renewed.stderr.contains("renewed automatically."))
      #expect(try await api.counts() == ["POST /login": 1, "POST /refresh": 1])
    }
  }

  @Test func nothingIsToldWhereItIsUsedOrThereIsNone() async throws {
    try await Shop.with(signsIn: false) { shop, _ in
      let run = try await shop.login()
      #expect(run.status == 0 && !run.stderr.contains("refresh token"), "\(run.stderr)")
    }
    try await Shop.with(session: "refresh_token = []", without: ["refresh"], signsIn: false) {
      shop, _ in
      let run = try await shop.login()
      #expect(run.status == 0 && !run.stderr.contains("refresh token"), "\(run.stderr)")
      let refused = try await shop.box.run("refresh")
      #expect(refused.stderr.contains(" cannot be renewed\n"), "\(refused.stderr)")
    }
  }
}
