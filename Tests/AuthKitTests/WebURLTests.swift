import Testing

@testable import AuthKit

/// Rule A8: URLs that are read without libcurl give the same result as with it.
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
    // `handle()` fails if libcurl's reading differs.
    _ = try url.handle()
    let resolved = try url.resolving("?q=1", from: .server)
    #expect(resolved.origin == read.origin && resolved.path == read.path)
    #expect(resolved.text == url.text + "?q=1")
  }

  /// Characters that libcurl maps to nothing or to digits after it has looked for an address.
  private static let twofold = [
    "http://\u{2460}27.1/", "http://\u{2460}27.0.0.1/", "http://\u{FF11}27.1/",
    "http://\u{FF11}\u{FF12}\u{FF17}.0.0.1/", "http://\u{FEFF}127.1/", "http://127\u{3002}1/",
    "http://127.0.0.1\u{3002}/", "http://\u{FEFF}0x7f.1/", "http://0\u{FF58}7f000001/",
    "http://\u{2070}x7f.1/", "http://\u{FF10}177.0.0.1/", "http://\u{B9}27.0.0.1:80/",
    "http://\u{AD}127.1/", "http://1\u{AD}27.0.0.1/", "http://\u{1D7CF}27.0.0.1/",
    "http://\u{FEFF}2130706433/", "http://\u{2461}130706433/", "http://\u{FEFF}/",
    "http://127.0.0\u{FF61}1/",
  ]

  @Test(arguments: twofold) func aHostThatIsReadInTwoWaysIsRefused(_ text: String) throws {
    for (source, kind) in [(URLSource.person, Failure.Kind.usage), (.server, .originRefused)] {
      #expect(throws: Failure.self) { try WebURL(text, from: source) }
      do throws(Failure) { _ = try WebURL(text, from: source) } catch {
        #expect(error.kind == kind)
      }
      let base = try WebURL("http://a.example/x", from: .person)
      for reference in [text, String(text.dropFirst("http:".utf8.count))] {
        do throws(Failure) {
          _ = try base.resolving(reference, from: source)
          Issue.record("\(reference) is accepted")
        } catch {
          #expect(error.kind == kind)
        }
      }
    }
  }

  /// Reading a URL's own text gives the same URL.
  @Test(
    arguments: plain + [
      "HTTP://LocalHost", "http://127.1/", "http://0x7f.1:8080/a?b=c", "http://2130706433/",
      "http://[0:0::1]:80/", "https://[2001:DB8:0::1]/x",
      "http://b\u{FC}cher.example/\u{FC}?\u{FC}=\u{FC}",
      "http://a/b c?d e", "http://a/?q=%20+%2b&\u{FC}", "http://a/%41%zz", "http://a/./b/../c",
      "http://a/#f", "http://a?b", "http://EXAMPLE\u{3002}com/", "http://fa\u{DF}.example/",
      "http://127.0.0.1/\u{FC}", "http://a/\\b", "http://a/%2e%2e/b", "http://a/x?y?z#q",
    ]) func readingIsIdempotent(_ text: String) throws
  {
    let once = try WebURL(text, from: .person)
    let twice = try WebURL(once.text, from: .person)
    #expect(twice.text == once.text && twice.origin == once.origin && twice.path == once.path)
    #expect(twice.query == once.query)
    _ = try once.handle()
  }

  @Test(arguments: other) func isLeftToLibcurl(_ text: String) {
    #expect(PlainURL(text) == nil)
  }
}
