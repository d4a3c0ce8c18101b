import Glibc
import Testing

/// The keyring or the bus ends while a command runs, with and without an open dialog: exit code 12
/// with the reason, no waiting, and no request without its credential. StoreFailureTests covers
/// stores that are locked before, MixedProcessesTests those locked between read and write.
@Suite struct StoreGoneTests {
  private static let noService = "no Secret Service on this bus (org.freedesktop.secrets)"

  /// Runs `body` during a renewal that the server has not answered yet.
  private func withRenewal(
    _ command: String, _ body: @Sendable (Shop, Relay, Child) async throws -> Void
  ) async throws {
    try await Relay.withShop { shop, api, relay in
      try await shop.age(ended: 10)
      let words = command.split(separator: " ").map(String.init)
      let child = try shop.box.start(words)
      try await relay.waitForPassages(1)
      try await body(shop, relay, child)
      for request in try await api.requests() where request["path"] == "/me" {
        #expect(request["headers"]?["authorization"]?.string?.hasPrefix("Bearer ") == true)
      }
      #expect(try await api.count("POST /refresh") <= 1)
    }
  }

  private func ends(_ command: String, _ run: Run, _ reason: String) {
    switch command {
    case "refresh":
      #expect(run.stderr.hasPrefix("authctl: \(reason)"), "\(run.stderr)")
      #expect(run.hasErrorForm)
      #expect(run.stdout == "" && run.status == 12)
    default:
      let warning = "authctl: warning: shop: the renewed session could not be stored (\(reason)"
      #expect(run.stderr.hasPrefix(warning), "\(run.stderr)")
      #expect(run.stdout == Shop.me && run.status == 0)
    }
  }

  @Test(arguments: ["get /me", "refresh"])
  func keyringThatDies(_ command: String) async throws {
    try await withRenewal(command) { shop, relay, child in
      try await shop.box.killKeyring()
      relay.releaseAll()
      ends(command, try await child.finish(), Self.noService)
      try await shop.box.startKeyring()
    }
  }

  /// Another daemon owns the name by then: the new pair is stored in that one.
  @Test(arguments: ["get /me", "refresh"])
  func keyringThatStartsAnew(_ command: String) async throws {
    try await withRenewal(command) { shop, relay, child in
      let old = try await shop.refreshToken()
      try await shop.box.killKeyring()
      try await shop.box.startKeyring()
      relay.releaseAll()
      let run = try await child.finish()
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stdout == (command == "refresh" ? "" : Shop.me))
      #expect(!run.stderr.contains("warning"), "\(run.stderr)")
      #expect(try await shop.refreshToken() != old)
    }
  }

  @Test(arguments: ["get /me", "refresh"])
  func busThatGoes(_ command: String) async throws {
    try await withRenewal(command) { shop, relay, child in
      try await shop.box.killBus()
      relay.releaseAll()
      ends(command, try await child.finish(), "no D-Bus session at ")
    }
  }

  @Test(arguments: ["get /me", "refresh"])
  func keyringThatStops(_ command: String) async throws {
    try await withRenewal(command + " --store-timeout 1") { shop, relay, child in
      shop.box.stopKeyring()
      relay.releaseAll()
      ends(command, try await child.finish(), "the keyring did not answer within 1 s")
      shop.box.continueKeyring()
    }
  }

  /// The store is unavailable from the start: the API receives no connection.
  @Test(arguments: ["killed", "stopped", "locked", "no bus"])
  func requestIsNotSentWithoutItsCredential(_ state: String) async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(box.canary.make("access"))]))
      try box.profile("shop", Scene.profile(api.url))
      let login = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password\n")
      try #require(login.status == 0, "\(login.stderr)")
      let before = api.connections.count
      switch state {
      case "killed": try await box.killKeyring()
      case "stopped": box.stopKeyring()
      case "locked": try await box.lockKeyring()
      default: try await box.killBus()
      }
      for words in [
        ["get", "/me"], ["post", "/orders", "-d", "x=1"], ["get", api.url + "/me"],
        ["exec", "--", "/bin/true"], ["token"],
      ] {
        let run = try await box.run(words + (words[0] == "exec" ? [] : ["--store-timeout", "1"]))
        #expect(
          run.status == (words[0] == "exec" ? 125 : 12) || state == "stopped" && words[0] == "exec",
          "\(words): \(run.stderr)")
        #expect(run.hasErrorForm, "\(words): \(run.stderr)")
        #expect(run.stdout == "", "\(words)")
      }
      #expect(api.connections.count == before)
      box.continueKeyring()
    }
  }

  /// The dialog is open: its prompter accepts it and never answers.
  @Test(arguments: ["keyring", "bus"])
  func goesWhileItsDialogIsOpen(_ what: String) async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      try await api.reset()
      try await box.lockKeyring()
      let monitor = try await BusMonitor(box, calls: "Prompt")
      // It owns the name and reads no messages.
      let prompter = try DBusConnection(path: box.busSocket)
      try prompter.call(
        "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus.RequestName",
        [.string("org.gnome.keyring.SystemPrompter"), .uint32(0)])
      // With a display, and a prompter on the bus, the keyring is expected to show a dialog.
      let get = try box.openTerminal(["get", "/me"], env: ["DISPLAY": ":7"])
      try await monitor.waitForCallers(1, of: "Prompt", from: 0)
      if what == "bus" { try await box.killBus() } else { try await box.killKeyring() }
      let run = try await get.finish()
      #expect(run.screen.hasPrefix("authctl: "), "\(run.screen)")
      #expect(
        run.screen.contains("it stopped while its dialog was open")
          || run.screen.contains("keyring (gnome-keyring) failed: "), "\(run.screen)")
      #expect(run.status == 12)
      #expect(try await api.counts() == [:])
      withExtendedLifetime(prompter) {}
    }
  }
}
