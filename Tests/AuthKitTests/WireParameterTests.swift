import Testing

@testable import AuthKit

/// Credentials in the query of a URL: added once, and taken out of what a server names.
@Suite struct WireParameterTests {
  private static func parameter(
    _ name: String, _ value: String, isCredential: Bool = true
  ) -> WireParameter {
    WireParameter(name: name, value: SharedSecret(value), isCredential: isCredential)
  }

  private static var key: [WireParameter] { [parameter("key", "s3cret&k")] }

  @Test(arguments: [
    ("/a", "/a?key=s3cret%26k"), ("/a?", "/a?key=s3cret%26k"), ("/a?b=1", "/a?b=1&key=s3cret%26k"),
    ("/a?key=x&b=1&%6bey=y", "/a?b=1&key=s3cret%26k"),
    ("/", "/?key=s3cret%26k"),
  ])
  func credentialIsAddedOnce(_ given: String, _ sent: String) throws {
    let url = try WebURL("https://api.example" + given, from: .person).adding(Self.key)
    #expect(url.text == "https://api.example" + sent)
  }

  @Test func constantGivesWay() throws {
    let version = [Self.parameter("v", "1", isCredential: false)]
    for (given, sent) in [("?a=1", "?a=1&v=1"), ("?v=2", "?v=2"), ("?v", "?v")] {
      let url = try WebURL("https://api.example/" + given, from: .person).adding(version)
      #expect(url.text == "https://api.example/" + sent)
    }
  }

  @Test(arguments: [
    ("?a=1&key=s3cret%26k", "?a=1", "?a=1"), ("?key=s3cret%26k", "", ""),
    ("?key=other&a=1", "?a=1", "?key=other&a=1"),
    ("?copy=s3cret%26k&a=1", "?copy=s3cret%26k&a=1", "?a=1"), ("?a=1", "?a=1", "?a=1"),
  ])
  func isTakenOut(_ given: String, _ home: String, _ away: String) throws {
    let url = try WebURL("https://api.example/x" + given, from: .server)
    #expect(try url.removing(Self.key, isHome: true).text == "https://api.example/x" + home)
    #expect(try url.removing(Self.key, isHome: false).text == "https://api.example/x" + away)
  }

  /// A short value may be anybody's: elsewhere it goes only with the name.
  @Test func shortValueGoesWithItsName() throws {
    let url = try WebURL("https://cdn.example/x?page=1&key=1", from: .server)
    let left = try url.removing([Self.parameter("key", "1")], isHome: false)
    #expect(left.text == "https://cdn.example/x?page=1")
  }

  // MARK: request.query

  private static func recipe(_ text: String) throws -> Recipe {
    try ProfileReader.read(
      text: "url = \"https://api.shop.example\"\n" + text, name: "shop", file: nil
    ).recipe
  }

  /// A key in the query takes the place of a header that a preset or a default sends it in.
  @Test(arguments: [
    ("[request]\nquery = { k = \"{access_token}\" }\n", []),
    ("preset = \"api-key\"\n[request]\nquery = { k = \"{access_token}\" }\n", []),
    ("[request]\nquery = { v = \"2\" }\n", ["Authorization"]),
    (
      "[request]\nquery = { k = \"{access_token}\" }\nheaders = { X = \"{access_token}\" }\n",
      ["X"]
    ),
  ])
  func headersBesideIt(_ text: String, _ carriers: [String]) throws {
    #expect(try Self.recipe(text).request.carriers == carriers)
  }

  @Test(arguments: [
    "query = { k = \"{refresh_token}\" }", "query = { k = \"{password}\" }",
    "query = { k = \"{client_secret}\" }", "query = { api_key = \"fixed\" }",
    "query = { k = \"{taken.c}\" }", "query = [\"k\"]",
  ])
  func whatItMayNotHold(_ line: String) throws {
    do {
      _ = try Self.recipe("[request]\n" + line + "\n")
      Issue.record("accepted")
    } catch {
      #expect((error as? Failure)?.kind == .usage)
    }
  }
}
