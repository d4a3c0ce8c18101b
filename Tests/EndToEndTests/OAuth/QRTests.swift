import Testing

/// `login --qr`: the page of a device code as a picture.
@Suite struct QRTests {
  private static func with(
    _ device: [String: JSON] = [:], _ body: (OAuthShop) async throws -> Void
  ) async throws {
    try await OAuthShop.with(
      settings: [
        "device_auto_approve": .string(OAuthShop.ada),
        "device": .object(["interval": 1].merging(device) { $1 }),
      ], body)
  }

  private static func signIn(
    _ shop: OAuthShop, columns: Int = 100, env: [String: String?] = [:]
  ) async throws -> String {
    let run = try await shop.box.terminal(
      ["login", "--qr"], columns: columns,
      env: shop.environment(["LC_ALL": "C.UTF-8"].merging(env) { $1 }))
    #expect(run.status == 0, "\(run.screen)")
    return run.screen
  }

  /// What the program qrencode draws.
  private static func picture(_ text: String, _ box: Sandbox) async throws -> String {
    let run = try await box.run("-t", "UTF8", text, program: "/usr/bin/qrencode")
    return run.stdout
  }

  /// The picture has the code already, so nobody has to type it.
  @Test func pageWithTheCode() async throws {
    try await Self.with { shop in
      let screen = try await Self.signIn(shop)
      let code = try #require(screen.firstMatch(of: #/and enter +([A-Z]{4}-[A-Z]{4})/#)).1
      let picture = try await Self.picture("\(shop.api.url)/device?user_code=\(code)", shop.box)
      #expect(
        screen.hasPrefix(
          """
          On any device, visit
            \(shop.api.url)/device
          and enter   \(code)   (10 min left)
          Enter the code only if you started this sign-in yourself.
          \(picture)Signed in to shop as \(OAuthShop.ada).
          """), "\(screen)")
      #expect(shop.visited == nil)
    }
  }

  @Test func blackAndWhiteWhateverTheTerminalHas() async throws {
    try await Self.with { shop in
      let screen = try await Self.signIn(shop, env: ["NO_COLOR": nil])
      #expect(screen.contains("\n\u{1B}[40;97m\u{2588}\u{2588}"), "\(screen)")
      #expect(screen.contains("\u{2588}\u{1B}[m\nSigned in"), "\(screen)")
    }
  }

  /// Nobody can read in a picture where it leads: it is of the page that is shown (rule B16).
  @Test(arguments: ["https://evil.example/device?c=1", "https://a:b@h/", "x", "{origin}/\u{1B}[2J"])
  func anotherHostIsNotDrawn(complete: String) async throws {
    try await Self.with(["verification_uri_complete": .string(complete)]) { shop in
      let screen = try await Self.signIn(shop)
      let picture = try await Self.picture(shop.api.url + "/device", shop.box)
      #expect(screen.contains("yourself.\n" + picture + "Signed in"), "\(screen)")
    }
  }

  @Test func withoutAPicture() async throws {
    try await Self.with { shop in
      let warning = "authctl: warning: --qr"
      let narrow = try await Self.signIn(shop, columns: 36)
      #expect(
        narrow.replacing("\n  ", with: " ").contains(
          "\(warning): the picture needs a terminal of "), "\(narrow)")
      let ascii = try await Self.signIn(shop, env: ["LC_ALL": "C"])
      #expect(ascii.contains("\(warning): the characters of this terminal are not UTF-8\n"))
      let file = try await shop.run("login", "--qr")
      #expect(file.status == 0 && file.stdout == "")
      #expect(file.stderr.contains("\(warning): standard error is not a terminal\n"))
      // The dynamic linker takes this one, and it is no library.
      try shop.box.write("broken/libqrencode.so.4", "")
      let folder = shop.box.root + "/broken"
      let none = try await shop.run("login", "--qr", env: ["LD_LIBRARY_PATH": folder])
      #expect(none.status == 0)
      #expect(
        none.stderr.contains(
          "\(warning): libqrencode cannot be loaded: \(folder)/libqrencode.so.4: file too short\n"))
      for screen in [narrow, ascii, file.stderr, none.stderr] {
        #expect(!screen.contains("\u{2588}"))
      }
      // What has to be seen is shown with -q too.
      let quiet = try await shop.run("login", "--no-browser", "-q")
      #expect(quiet.status == 0 && quiet.stderr.contains("\nand enter   "), "\(quiet.stderr)")
    }
  }

  @Test func onlyForCodes() async throws {
    try await Self.with { shop in
      let run = try await shop.run("login", "--qr", "--grant", "authorization-code")
      #expect(run.status == 2 && run.stdout == "" && shop.visited == nil)
      #expect(
        run.stderr == "authctl: shop: --qr is for the grant device-code, not authorization-code\n")
    }
  }
}
