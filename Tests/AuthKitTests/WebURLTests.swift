import Testing

@testable import AuthKit

/// Rule A8: what is read without libcurl is read as libcurl does.
struct WebURLTests {
  private static let plain = [
    "http://localhost", "http://localhost/", "https://api.shop.example/v1/items", "http://a:8080/",
    "https://127.0.0.1:8443/a/b", "https://xn--bcher-kva.example/a", "http://a-b.c9.de/~x_y.z-1",
    "http://192.0.2.255/a//b", "https://a.example:80/", "http://1.a/", "http://a:65535",
  ]
  private static let other = [
    "HTTP://localhost/", "http://LOCALHOST/", "http://localhost:80/", "https://a.example:443",
    "http://127.1/", "http://0x7f.1/", "http://0177.0.0.1/", "http://127.0.0.1./", "http://1/",
    "http://a.1/", "http://a/./b", "http://a/../b", "http://a/.well-known/x", "http://a/%41",
    "http://a/b?c=d", "http://a/#f", "http://a/b c", "http://a:08/", "http://[::1]/",
    "http://bücher.example/", "http://a_b/", "http://a/ü", "http://a:1x/", "http://a:0/",
    "http://a:65536/", "http://u@a/", "http://a..b/", "http://.a/", "http:///a", "http:/a",
    "http://", "ftp://a/", "http://a\\b/", "http://a/\u{7F}", "http://a:/", "",
  ]

  @Test(arguments: plain) func isReadAsLibcurlReadsIt(_ text: String) throws {
    let read = try #require(PlainURL(text))
    let url = try WebURL(text, from: .person)
    #expect(url.origin == read.origin && url.path == read.path && url.query == nil)
    // Compares with libcurl's reading.
    _ = try url.handle()
    let resolved = try url.resolving("?q=1", from: .server)
    #expect(resolved.origin == read.origin && resolved.path == read.path)
    #expect(resolved.text == url.text + "?q=1")
  }

  @Test(arguments: other) func isLeftToLibcurl(_ text: String) {
    #expect(PlainURL(text) == nil)
  }
}
