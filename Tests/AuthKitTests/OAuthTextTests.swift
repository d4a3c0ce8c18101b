import Testing

@testable import AuthKit

/// Challenges of an API, and requests of a browser.
@Suite struct OAuthTextTests {
  private func challenges(_ values: String...) -> [String] {
    Challenge.all(in: values).map { challenge in
      let names = ["realm", "error", "scope", "max_age", "resource_metadata"]
      return challenge.scheme
        + names.compactMap { name in challenge[name].map { " \(name)=<\($0)>" } }.joined()
    }
  }

  @Test func readsChallenges() {
    #expect(challenges("Bearer") == ["bearer"])
    #expect(challenges("Bearer realm=\"x\"") == ["bearer realm=<x>"])
    #expect(
      challenges("bEARER error=\"insufficient_scope\", scope=\"a b\"")
        == ["bearer error=<insufficient_scope> scope=<a b>"])
    #expect(
      challenges(
        "Basic realm=\"a, Bearer error=\\\"x\\\"\", Bearer ERROR=invalid_token , max_age=5")
        == ["basic realm=<a, Bearer error=\"x\">", "bearer error=<invalid_token> max_age=<5>"])
    #expect(
      challenges("Basic", "Bearer scope = \"a\"") == ["basic", "bearer scope=<a>"])
    #expect(challenges("Negotiate abc, Bearer error=x").contains("bearer error=<x>"))
  }

  @Test func junkIsNoChallenge() {
    for text in [
      "", " ,, ", "=", "=x", "\"", "Bearer error=\"never closed", "Bearer error=", ",=,\"",
    ] {
      for challenge in Challenge.all(in: [text]) where challenge.scheme == "bearer" {
        #expect(challenge["error"].map { $0.isEmpty || $0 == "never closed" } ?? true, "\(text)")
      }
    }
    #expect(Challenge.all(in: [String(repeating: "a=\"", count: 5000)]).count < 10_000)
  }

  private func request(_ text: String) -> BrowserRequest? { BrowserRequest(Array(text.utf8)) }

  @Test func readsARequest() throws {
    let found = try #require(
      request(
        "GET /callback?code=a&x=%3F?y HTTP/1.1\r\nAccept: */*\r\nhOST:  127.0.0.1:80 \r\n\r\n"))
    #expect(found.isGet && found.path == "/callback" && found.query == "code=a&x=%3F?y")
    #expect(found.host == "127.0.0.1:80")
    let plain = try #require(request("GET / HTTP/1.0\n\n"))
    #expect(plain.isGet && plain.path == "/" && plain.query == "" && plain.host == nil)
  }

  /// Each is either incomplete or not a GET of `/callback` with one Host header.
  @Test(arguments: [
    "", "\r\n", "\r\n\r\n", "GET", "GET /callback HTTP/1.1", "GET /callback HTTP/1.1\r\n",
    "GET /callback HTTP/1.1\r\nHost: h\r\n", "GET /callback HTTP/1.1\r\nHost: h",
    "HEAD /callback HTTP/1.1\r\nHost: h\r\n\r\n", "POST /callback HTTP/1.1\r\nHost: h\r\n\r\n",
    "get /callback HTTP/1.1\r\nHost: h\r\n\r\n", "GET /callback\r\nHost: h\r\n\r\n",
    "GET  /callback HTTP/1.1\r\nHost: h\r\n\r\n", "GET /callback x HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET http://h/callback HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET //h/callback HTTP/1.1\r\nHost: h\r\n\r\n", "GET /callback/ HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /Callback HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%63allback HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /callback#x HTTP/1.1\r\nHost: h\r\n\r\n", "GET /favicon.ico HTTP/1.1\r\nHost: h\r\n\r\n",
    "GET /callback HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n",
    "GET /callback HTTP/1.1\r\nHost: h\r\nhost: evil\r\n\r\n",
    "GET /callback HTTP/1.1\r\n\r\nHost: h\r\n\r\n", "GET /callback HTTP/1.1\r\nHost : h\r\n\r\n",
    "GET /callback HTTP/1.1\r\n Host: h\r\n\r\n", "GET /callback HTTP/1.1\r\nHost: h:80\r\n\r\n",
    "GET /callback HTTP/1.1\r\nHost: evil\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\n\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\0\0\0\0\n\n\n",
  ])
  func junkIsNoAnswer(_ text: String) {
    let found = request(text)
    let isAnswer = found?.isGet == true && found?.path == "/callback" && found?.host == "h"
    #expect(!isAnswer, "\(text)")
  }
}
