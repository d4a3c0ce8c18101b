import Testing

@testable import AuthKit

/// A session remembers its network settings to reach the server: rule A3.
@Suite struct SessionWayTests {
  private static func profile(_ network: String) throws -> Profile {
    try ProfileReader.read(
      text: "url = \"https://api.shop.example\"\n[network]\n\(network)\n", name: "shop",
      file: "/nowhere/shop.toml")
  }

  private static func session(_ way: ServerWay) throws -> Session {
    var values = TemplateValues()
    values[.accessToken] = SharedSecret("a-token")
    let home = try Origin("https://api.shop.example")
    var session = Session(
      profile: "shop", account: "ada", values: values, now: Timestamp(seconds: 1e9),
      requestOrigins: [home], signInOrigins: [home])
    session.way = way
    return session
  }

  @Test func isStoredAndRead() throws {
    let network = [
      "", "proxy = \"http://proxy.example:3128\"", "ca_file = \"/nowhere/ca.pem\"",
      "client_cert = \"c.pem\"\nclient_key = \"k.pem\"", "allow_http = true",
    ]
    let ways = try network.map { ServerWay(of: try Self.profile($0)) }
    for (index, way) in ways.enumerated() {
      let payload = try Self.session(way).payload()
      let read = try Session(payload: payload, profile: "shop", account: "ada")
      for (other, way) in ways.enumerated() { #expect((read.way == way) == (index == other)) }
    }
    #expect(ways[3].difference(from: ways[0]) == ["network.client_cert", "network.client_key"])
    #expect(ways[1].difference(from: ways[4]) == ["network.allow_http", "network.proxy"])
  }

  /// A session stored without network settings fits a profile that uses the system's.
  @Test func isEmptyInAnOldSession() throws {
    let payload = try Self.session(ServerWay(of: try Self.profile(""))).payload()
    let text = payload.withBytes { String(decoding: $0, as: UTF8.self) }
    #expect(!text.contains("server_way"))
    let read = try Session(payload: payload, profile: "shop", account: "ada")
    #expect(read.way == ServerWay(of: try Self.profile("connect_timeout = 5")))
    #expect(read.way != ServerWay(of: try Self.profile("proxy = \"http://p.example\"")))
  }
}
