import Testing

@testable import AuthKit

/// What completion offers of an API's description.
@Suite struct APIPathsTests {
  private static let operations = [
    APIPaths.Operation(method: "get", path: "/orders", parameters: ["page", "per_page", "q"]),
    APIPaths.Operation(method: "get", path: "/orders/{id}", parameters: ["fields"]),
    APIPaths.Operation(method: "get", path: "/orders/{id}/items"),
    APIPaths.Operation(method: "get", path: "/orders/mine"),
    APIPaths.Operation(method: "get", path: "/files/{name}.json"),
    APIPaths.Operation(method: "get", path: "/users/me/"),
  ]

  static let cases: [(typed: String, offered: [String])] = [
    ("", ["/files/", "/orders", "/orders/", "/orders/mine", "/users/me/"]),
    ("/o", ["/orders", "/orders/", "/orders/mine"]), ("/orders", ["/orders/", "/orders/mine"]),
    ("/orders/", ["/orders/mine"]), ("/orders/1", ["/orders/1/items"]),
    ("/orders/1/", ["/orders/1/items"]), ("/orders/1/i", ["/orders/1/items"]),
    ("/orders/1/items", []), ("/orders//", []), ("/users/me", ["/users/me/"]), ("/x", []),
    ("/orders?", ["/orders?page=", "/orders?per_page=", "/orders?q="]),
    ("/orders?p", ["/orders?page=", "/orders?per_page="]), ("/orders?page=", []),
    ("/orders?page=2&p", ["/orders?page=2&per_page="]), ("/orders/7?", ["/orders/7?fields="]),
    ("/none?", []), ("/orders/?", []),
  ]

  @Test(arguments: cases) func continuations(typed: String, offered: [String]) {
    #expect(APIPaths.continuations(of: typed, Self.operations) == offered)
  }

  @Test func ofADocument() throws {
    let get = #"{"parameters":[{"in":"query","name":"page"},{"in":"header","name":"X"}]}"#
    let paths = ##""/orders":{"parameters":[{"$ref":"#/components/parameters/q"}],"get":\##(get),"##
    let text = openAPI3(
      paths + ##""post":{},"summary":"s"},"/a'b":{"get":{}},"/$(x)":{"get":{}}"##,
      ##""components":{"parameters":{"q":{"in":"query","name":"q"}}}"##)
    let document = try #require(try openAPI(text))
    let found = APIPaths(base: "https://h", document.described)
    #expect(
      found.operations == [
        .init(method: "get", path: "/orders", parameters: ["q", "page"]),
        .init(method: "post", path: "/orders", parameters: ["q"]),
      ])
    #expect(APIPaths(base: "https://h", text: Secret(found.text)) == found)
    for text in ["", "{}", "[1]", "[[]]", #"[["get"]]"#] {
      #expect(APIPaths(base: "h", text: Secret(text))?.operations ?? [] == [])
    }
  }

  @Test func isBounded() {
    let names = (0..<60).map { "parameter\($0)" }
    let many = (0..<5000).map {
      APIPaths.Operation(method: "get", path: "/\($0)", parameters: names)
    }
    let paths = APIPaths(base: "https://h", many)
    #expect(paths.text.utf8.count < APIPaths.mostBytes)
    #expect(paths.operations.first?.parameters.count == APIPaths.mostParameters)
    let short = many.map { APIPaths.Operation(method: "get", path: $0.path) }
    #expect(APIPaths(base: "https://h", short).operations.count == APIPaths.mostOperations)
    let long = "/" + String(repeating: "x", count: 200)
    #expect(APIPaths(base: "h", [.init(method: "get", path: long)]).operations == [])
  }
}
