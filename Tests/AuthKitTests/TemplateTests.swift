import Testing

@testable import AuthKit

private func shown(_ text: String) throws -> [String] {
  try Template(text).pieces.map { piece in
    switch piece {
    case .text(let text): "text \(text)"
    case .value(let name): "value \(name)"
    case .basic(let user, let secret): "basic \(user) \(secret)"
    }
  }
}

@Suite struct TemplateTests {
  @Test(arguments: [
    ("", []), ("plain }", ["text plain }"]), ("{username}", ["value username"]),
    ("Bearer {access_token}", ["text Bearer ", "value access_token"]),
    ("{{username}", ["text {username}"]), ("{{{username}", ["text {", "value username"]),
    ("{session.client}{field.a-b_c.d}", ["value session.client", "value field.a-b_c.d"]),
    ("{basic:username:password}", ["basic username password"]),
    ("{basic:session.a:app_key}!", ["basic session.a app_key", "text !"]),
    ("é{otp}\r\n", ["text é", "value otp", "text \r\n"]),
  ])
  func reads(text: String, pieces: [String]) throws {
    #expect(try shown(text) == pieces)
  }

  @Test(arguments: [
    "{", "{username", "{}", "{user}", "{Username}", "{session.}", "{field.a b}", "{basic:username}",
    "{basic:username:nope}", "{basic:a:b:c}", "{session.a:b}", "{username }", "{username\u{301}}",
  ])
  func refuses(text: String) {
    #expect { try Template(text) } throws: { ($0 as? Failure)?.kind == .usage }
  }

  @Test func names() throws {
    let template = try Template("{basic:username:password} {otp}")
    #expect(template.names == [.username, .password, .otp] && template.onlyName == nil)
    #expect(try Template("{otp}").onlyName == .otp)
    #expect(!Template.Name.username.isSecret && !Template.Name.field("x").isSecret)
    #expect(Template.Name.accessToken.isSecret && !Template.Name.session("x").isSecret)
  }
}
