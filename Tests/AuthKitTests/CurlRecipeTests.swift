import Testing

@testable import AuthKit

extension CurlRecipe {
  /// Reads pasted text.
  init(pasted text: String) throws { self = try CurlRecipe(try CurlLine(text)) }

  /// The settings as `KEY VALUE`. Reading the resulting profile first rejects settings that no
  /// profile can have.
  func shown() throws -> [String] {
    _ = try login()
    return settings.map { "\($0.key) \($0.value.text ?? $0.value.serialized())" }
  }

  /// The `[login]` of the resulting profile.
  func login() throws -> RecipeRequest {
    let store = ProfileStore(configDirectory: "/nonexistent/authctl", home: "/nonexistent")
    let url: [(key: String, value: JSONValue)] = [("url", .string(url))]
    return try #require(try store.draft("shop", settings: url + settings).profile.recipe.login)
  }

  /// The JSON body, with the name and password from the command line.
  func json() throws -> String? { try expansion.json(try login())?.text }

  /// The form body, with the name and password from the command line.
  func form() throws -> String { TemplateFiller.form(try expansion.flat(try login())).text }

  private var expansion: TemplateFiller {
    var values = TemplateValues()
    if let username { values[.username] = SharedSecret(username) }
    values[.password] = password
    return TemplateFiller(values: values, profile: "shop")
  }
}

func failure(pasted text: String) -> Failure? {
  do {
    _ = try CurlRecipe(pasted: text)
    return nil
  } catch {
    return error as? Failure
  }
}

@Suite struct CurlRecipeTests {
  // MARK: - Copied from browsers

  @Test func chromeJSON() throws {
    let recipe = try CurlRecipe(
      pasted:
        #"""
        curl 'https://shop.example/api/login?lang=de' \
          -H 'accept: application/json, text/plain, */*' \
          -H 'accept-language: de-DE,de;q=0.9' \
          -H 'content-type: application/json' \
          -b '_ga=GA1.1.1; sid=c00k1e' \
          -H 'origin: https://shop.example' \
          -H 'priority: u=1, i' \
          -H 'referer: https://shop.example/login' \
          -H 'sec-ch-ua: "Chromium";v="142", "Not_A Brand";v="99"' \
          -H 'sec-fetch-site: same-origin' \
          -H 'user-agent: Mozilla/5.0 (X11; Linux x86_64)' \
          -H 'x-requested-with: XMLHttpRequest' \
          --data-raw $'{"email":"ada@shop.example","password":"it\'s secret\u0021","remember":true}'
        """#)
    #expect(recipe.url == "https://shop.example")
    #expect(
      try recipe.shown() == [
        "login.path /api/login", "login.encoding json", #"login.query {"lang":"de"}"#,
        #"login.headers {"accept":"application/json, text/plain, */*","#
          + #""x-requested-with":"XMLHttpRequest"}"#,
        #"login.body {"email":"{username}","password":"{password}","remember":true}"#,
      ])
    #expect(recipe.username == "ada@shop.example" && recipe.password?.text == "it's secret!")
    #expect(
      recipe.notes == [
        "cookies were left out: authctl keeps its own", "Origin was left out",
        "Referer was left out",
      ])
    #expect(
      try recipe.json()
        == #"{"email":"ada@shop.example","password":"it's secret!","remember":true}"#)
  }

  @Test func chromeMultipart() throws {
    let recipe = try CurlRecipe(
      pasted:
        #"""
        curl 'https://shop.example/login' \
          -H 'content-type: multipart/form-data; boundary=----WebKitFormBoundary7MA4' \
          --data-raw $'------WebKitFormBoundary7MA4\r\nContent-Disposition: form-data; name="email"\r\n\r\nada@shop.example\r\n------WebKitFormBoundary7MA4\r\nContent-Disposition: form-data; name="password"\r\n\r\na\r\nb\r\n------WebKitFormBoundary7MA4--\r\n'
        """#)
    #expect(
      try recipe.shown() == [
        "login.path /login", "login.encoding multipart",
        #"login.body {"email":"{username}","password":"{password}"}"#,
      ])
    #expect(recipe.username == "ada@shop.example" && recipe.password?.text == "a\r\nb")
  }

  @Test func firefoxForm() throws {
    let recipe = try CurlRecipe(
      pasted:
        #"""
        curl 'https://shop.example/session' \
          --compressed \
          -X POST \
          -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' \
          -H 'Accept: text/html,application/xhtml+xml' \
          -H 'Content-Type: application/x-www-form-urlencoded' \
          -H 'Upgrade-Insecure-Requests: 1' \
          -H 'Cookie: _shop_session=c00k1e' \
          --data-raw 'utf8=%E2%9C%93&authenticity_token=cs%2Brf&user%5Bemail%5D=ada%40shop.example&user%5Bpassword%5D=a+b%26%2B&user%5Bremember_me%5D=0&user%5Bremember_me%5D=1&commit=Log+in'
        """#)
    #expect(
      try recipe.shown() == [
        "login.path /session", "login.encoding form",
        #"login.headers {"Accept":"text/html,application/xhtml+xml"}"#,
        #"login.body {"utf8":"✓","user[email]":"{username}","user[password]":"{password}","#
          + #""user[remember_me]":"1","commit":"Log in"}"#,
      ])
    #expect(recipe.username == "ada@shop.example" && recipe.password?.text == "a b&+")
    #expect(
      recipe.notes == [
        "cookies were left out: authctl keeps its own",
        "authenticity_token was left out: [prefetch] can get a fresh one",
        "user[remember_me] appears twice: the last value is kept",
      ])
    #expect(
      try recipe.form()
        == "utf8=%E2%9C%93&user%5Bemail%5D=ada%40shop.example&user%5Bpassword%5D=a+b%26%2B"
        + "&user%5Bremember_me%5D=1&commit=Log+in")
  }

  @Test func safariJSON() throws {
    let recipe = try CurlRecipe(
      pasted:
        #"""
        curl 'https://shop.example/api/\[v1\]/login' \
        -X 'POST' \
        -H 'Content-Type: application/json; charset=utf-8' \
        -H 'Accept: */*' \
        -H 'X-CSRF-Token: t0ken' \
        --data-binary $'{"data":{"attributes":{"j_username":"bj\xf6rn","j_password":"\u20ac\u0021"}}}'
        """#)
    #expect(
      try recipe.shown() == [
        "login.path /api/[v1]/login", "login.encoding json",
        #"login.body {"data":{"attributes":{"j_username":"{username}","j_password":"{password}"}}}"#,
      ])
    #expect(recipe.username == "björn" && recipe.password?.text == "€!")
    #expect(recipe.notes.count == 1 && recipe.notes[0].contains("[prefetch]"))
  }

  @Test func graphQL() throws {
    let body =
      #"{"operationName":"Login","variables":{"in":{"userName":"ada","password":"password"}},"#
      + #""query":"mutation Login($in: LoginInput!) {\n  login(password: $in) { token }\n}"}"#
    let recipe = try CurlRecipe(pasted: "curl https://h/graphql --json '\(body)'")
    #expect(try recipe.shown().last?.contains(#"($in: LoginInput!) {{\n  login"#) == true)
    #expect(recipe.username == "ada" && recipe.password?.text == "password")
    #expect(try recipe.json() == body)
  }

  // MARK: - Basic

  @Test(arguments: [
    "curl -X POST -u ada:pw:1 https://h/signin", "curl -XPOST 'https://ada:pw%3A1@h/signin'",
    "curl -X POST https://h/signin -H 'authorization: Basic YWRhOnB3OjE='",
    "curl -X POST https://h/signin -d '' --user ada:pw:1",
  ])
  func basic(text: String) throws {
    let recipe = try CurlRecipe(pasted: text)
    #expect(recipe.url == "https://h")
    #expect(
      try recipe.shown() == [
        "login.path /signin", "login.authorization basic", "login.encoding none",
      ])
    #expect(recipe.username == "ada" && recipe.password?.text == "pw:1" && recipe.notes == [])
  }

  @Test func basicWithoutPassword() throws {
    let recipe = try CurlRecipe(pasted: "curl -u ada https://h/me")
    #expect(try recipe.shown() == ["preset http-basic", "login.path /me"])
    #expect(recipe.username == "ada" && recipe.password == nil)
    // The name before a colon may be a key.
    let refused = failure(pasted: "curl -u ada: https://h")
    #expect(refused?.message == "-u of the curl command has no password")
    #expect(refused?.hint == "to sign in by HTTP Basic, give a name and a password")
    #expect(try CurlRecipe(pasted: "curl -X POST -u ada: https://h/in").password == nil)
  }

  @Test func basicIsTheApplication() throws {
    let recipe = try CurlRecipe(
      pasted:
        "curl https://h/token -u client:k3y -d 'grant_type=password&username=ada&password=password'"
    )
    #expect(
      try recipe.shown() == [
        "login.path /token", "login.authorization app", "login.encoding form",
        #"login.body {"grant_type":"password","username":"{username}","password":"{password}"}"#,
      ])
    #expect(recipe.notes.count == 1 && recipe.notes[0].contains("--app-key-stdin"))
    let same = try CurlRecipe(pasted: "curl -u ada:pw h -d 'user=ada&pass=pw'")
    #expect(try same.shown()[1] == "login.authorization basic")
  }

  // MARK: - Body formats

  @Test func multipart() throws {
    let recipe = try CurlRecipe(pasted: "curl https://h -F user=ada -F 'password=a b' -F 'x={y}'")
    #expect(
      try recipe.shown() == [
        "login.path /", "login.encoding multipart",
        #"login.body {"user":"{username}","password":"{password}","x":"{{y}"}"#,
      ])
  }

  @Test(arguments: [
    ("application/json; charset=utf-8", #"{"user":"a","pass":"b"}"#, "json", nil),
    ("application/vnd.api+json", #"{"user":"a","pass":"b"}"#, "json", "application/vnd.api+json"),
    ("text/plain;charset=UTF-8", #"{"user":"a","pass":"b"}"#, "json", "text/plain;charset=UTF-8"),
    ("application/x-www-form-urlencoded; charset=UTF-8", "user=a&pass=b", "form", nil),
    ("text/plain", "user=a&pass=b", "form", "text/plain"),
  ])
  func contentTypes(type: String, body: String, encoding: String, kept: String?) throws {
    let recipe = try CurlRecipe(pasted: "curl https://h -H 'Content-Type: \(type)' -d '\(body)'")
    let headers = kept.map { ["login.headers {\"Content-Type\":\"\($0)\"}"] } ?? []
    #expect(
      try recipe.shown() == ["login.path /", "login.encoding \(encoding)"] + headers
        + [#"login.body {"user":"{username}","pass":"{password}"}"#])
  }

  @Test func whatTOMLCannotSay() throws {
    let recipe = try CurlRecipe(
      pasted:
        #"curl h --json '{"user":"a","pass":4711,"n":1.5e3,"x":null,"l":[1,"{",true],"o":{}}'"#)
    #expect(
      try recipe.shown().last
        == #"login.body {"user":"{username}","pass":"{password}","n":1.5e3,"l":[1,"{{",true],"o":{}}"#
    )
    #expect(
      recipe.notes == [
        "the URL has no scheme: authctl uses https://", "pass was a number and is sent as text",
        "x was left out: a profile cannot contain null",
      ])
    #expect(failure(pasted: #"curl h --json '{"pass":"a","x":[null]}'"#)?.kind == .usage)
    #expect(
      failure(pasted: #"curl h --json '{"pass":"a","x":123456789012345678901}'"#)?.kind == .usage)
    #expect(failure(pasted: #"curl h --json '{"pass":"a","x":1e999}'"#)?.kind == .usage)
    #expect(failure(pasted: #"curl h --json '{"pass":"a","x":1,"x":2}'"#)?.kind == .usage)
  }

  @Test(arguments: [
    ("curl localhost:3000/login -d user=a -d pass=b", "http://localhost:3000", "/login"),
    ("curl 'HTTPS://H:8443/a b/é?#x' -d pass=b", "https://H:8443", "/a%20b/%C3%A9"),
    ("curl https://h//login -d pass=b", "https://h", "https://h//login"),
    ("curl 'https://h?a=b' -d pass=b", "https://h", "/"),
    ("curl 'https://[::1]:8080' -d pass=b", "https://[::1]:8080", "/"),
    ("curl -g 'https://h/{a}' -d pass=b", "https://h", "/{{a}"),
  ])
  func urls(text: String, url: String, path: String) throws {
    let recipe = try CurlRecipe(pasted: text)
    #expect(recipe.url == url)
    #expect(try recipe.shown().contains("login.path \(path)"))
  }

  @Test func whatWasNotRead() throws {
    let recipe = try CurlRecipe(
      pasted:
        "curl -k --cacert ca.pem -b a=b https://h --data user=ada --data pass=b | jq .token")
    #expect(
      recipe.notes == [
        "-k was left out: certificates are always checked",
        "cookies were left out: authctl keeps its own", "left out: the text after |",
        "left out: --cacert",
      ])
  }

  // MARK: - Refusals

  @Test(arguments: [
    ("curl https://h", "the curl command sends no user name and no password"),
    (
      "curl https://h -u ada:qq1-77 -d 'user=ada&password:qq1-77'",
      "a field name of the curl command contains the password"
    ),
    (
      "curl https://h -d 'user=ada&kode:qq1'",
      "no field of the curl command looks like a password: user"
    ),
    (
      "curl https://h -d 'email=qq1&kode=qq2'",
      "no field of the curl command looks like a password: email, kode"
    ),
    (
      #"curl https://h -d "{'user':'qq1','password':'qq2=='}""#,
      "the body of the curl command is not JSON: expected a key in quotes at byte 1"
    ),
    (
      "curl https://h -d '<user>qq1</user>=' -H 'Content-Type: text/xml'",
      "the body of the curl command is neither JSON nor a form"
    ),
    ("curl https://h -d qq1", "the body of the curl command is neither JSON nor a form"),
    (
      "curl https://h -d 'qq1/qq2=='",
      "no field of the curl command looks like a password: (unnamed)"
    ),
    (
      "curl https://h -d '[\"qq1\"]'",
      "the JSON body of the curl command must be an object"
    ),
    ("curl https://h -d 'pass=%ff'", "a field of the curl command is not UTF-8"),
    ("curl 'ftp://h/qq1' -d pass=qq2", "the URL of the curl command is neither http nor https"),
    (
      "curl 'https://h:qq1/' -d pass=x",
      "the URL of the curl command has no port between 1 and 65535"
    ),
    ("curl 'https:///qq1' -d pass=x", "the URL of the curl command has no host"),
    (
      "curl 'https://h/qq1\n' -d pass=x", "the URL of the curl command contains a control character"
    ),
    (
      "curl 'https://%ff@h/' -d pass=x",
      "the user name in the URL of the curl command is not UTF-8"
    ),
    (
      "curl https://h -H 'Authorization: Basic qq1=!'",
      "the Basic header of the curl command is not text in base64"
    ),
    (
      "curl --ntlm -u qq1:qq2 https://h",
      "the curl command's --ntlm is not supported"
    ),
    (
      "curl https://h -H 'Content-Type: multipart/form-data; boundary=x' -d 'qq1=qq2'",
      "the multipart body of the curl command cannot be read"
    ),
    (
      #"curl https://h -H 'Content-Type: multipart/form-data; boundary=x' "#
        + #"-d $'--x\nContent-Disposition: form-data; name="f"; filename="qq1"\n\n\n--x--'"#,
      "the form of the curl command uploads a file, which a profile cannot do"
    ),
  ])
  func refuses(text: String, message: String) {
    let failure = failure(pasted: text)
    #expect(failure?.kind == .usage && failure?.message == message)
    let words = (failure?.message ?? "") + (failure?.hint ?? "")
    #expect(!words.contains("qq1") && !words.contains("qq2"))
  }

  @Test func hostile() throws {
    let deep = String(repeating: #"{"a":"#, count: 100) + "1" + String(repeating: "}", count: 100)
    let tooDeep = failure(pasted: #"curl h --json '{"pass":"b","x":\#(deep)}'"#)
    #expect(tooDeep?.message.contains("too deep") == true)
    let less = String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40)
    #expect(
      try CurlRecipe(pasted: #"curl h --json '{"pass":"b","x":\#(less)}'"#).shown().count == 3)
    let many = String(repeating: "a=b&", count: 200_000)
    #expect(failure(pasted: "curl h -d '\(many)pass=x'")?.message.contains("too many") == true)
    let big = String(repeating: "x", count: 1_000_000)
    #expect(failure(pasted: "curl h -d '\(big)=1&pass=x'")?.message.contains("too long") == true)
    #expect(try CurlRecipe(pasted: "curl h -d 'pass=\(big)'").password?.secret.count == 1_000_000)
    #expect(try CurlRecipe(pasted: "curl h -d 'pass=hunter2&x=\(big)'").notes.count == 1)
    let dashes = String(repeating: "-", count: 900_000)
    let type = "multipart/form-data; boundary=" + String(repeating: "-", count: 70)
    #expect(failure(pasted: "curl h -H 'Content-Type: \(type)' -d '\(dashes)'")?.kind == .usage)
  }

  @Test func controlBytesAndOtherScripts() throws {
    let recipe = try CurlRecipe(
      pasted:
        "curl https://h -H 'X-A: \u{1B}[2J' -H 'X-Ü: a' "
        + "-d $'имя=x&user=Ada\u{1}&password=\\x01é\u{7}'")
    #expect(recipe.username == "Ada\u{1}" && recipe.password?.text == "\u{1}é\u{7}")
    #expect(
      try recipe.shown().last
        == #"login.body {"имя":"x","user":"{username}","password":"{password}"}"#)
    #expect(recipe.notes.allSatisfy { $0.utf8.allSatisfy { (0x20...0x7E).contains($0) } })
    #expect(
      recipe.notes == [
        "X-A was left out: a profile cannot send this header",
        "(unnamed) was left out: a profile cannot send this header",
      ])
  }
}
