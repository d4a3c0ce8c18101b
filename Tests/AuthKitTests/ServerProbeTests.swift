import Testing

@testable import AuthKit

@Suite struct ReachTests {
  @Test(arguments: [
    // OpenSSL pads the day of the month with a blank.
    ("Nov 30 12:00:00 2026 GMT", 1_796_040_000.0), ("Jan  1 00:00:00 1970 GMT", 0),
    // GnuTLS.
    ("2026-11-30 12:00:00 GMT", 1_796_040_000),
  ])
  func endsOfCertificates(_ text: String, _ seconds: Double) {
    #expect(ServerProbe.moment(ofCertificate: text)?.seconds == seconds)
  }

  @Test(arguments: [
    "", "GMT", " GMT", "Nov 31 12:00:00 2026 GMT", "soon", "Nov 30 12:00:00 2026 CET",
  ])
  func noEnds(_ text: String) {
    #expect(ServerProbe.moment(ofCertificate: text) == nil)
  }

  @Test(arguments: [
    ("proxy.corp:3128", "proxy.corp:3128"), ("http://proxy.corp:3128/", "proxy.corp:3128"),
    ("http://us:pw@proxy.corp:3128", "proxy.corp:3128"), ("us:pw@proxy.corp", "proxy.corp"),
    ("http://us:p/w@proxy.corp/", "proxy.corp"), ("http://us:p@w@proxy.corp?x", "proxy.corp"),
    ("socks5h://[::1]:1080", "[::1]:1080"), ("", ""), ("x\u{1B}[2J", "x\\u{1B}[2J"),
  ])
  func hostsOfProxies(_ address: String, _ host: String) {
    #expect(Proxies.host(of: address) == host)
  }

  @Test func remarksOfLibcurl() {
    var reach = ServerProbe()
    let environment = ["https_proxy": "http://us:pw@p:1", "no_proxy": "x"]
    reach.findProxy(configured: nil, environment)
    #expect(reach.proxy == nil && reach.protocolName == nil)
    for line in [
      "Uses proxy env variable no_proxy == 'x'", "Uses proxy env variable https_proxy",
      "SSL connection using TLSv1.3 / TLS_AES_256_GCM_SHA384", "Connected to x",
    ] {
      reach.note(line)
    }
    reach.findProxy(configured: nil, environment)
    #expect(reach.proxy?.host == "p:1" && reach.proxy?.source == "https_proxy")
    #expect(reach.protocolName == "TLS1.3")
    reach.findProxy(configured: "http://q:2", environment)
    #expect(reach.proxy?.host == "q:2" && reach.proxy?.source == "network.proxy")
    reach.note("SSL connection using TLS1.2 / ECDHE_RSA_AES_256_GCM_SHA384")
    #expect(reach.protocolName == "TLS1.2")
  }
}
