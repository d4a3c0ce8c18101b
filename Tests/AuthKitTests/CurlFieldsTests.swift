import Testing

@testable import AuthKit

@Suite struct CurlFieldsTests {
  @Test(arguments: [
    ("user", "pass"), ("USERNAME", "PASSWORD"), ("email", "pwd"), ("login", "passwd"),
    ("identifier", "password"), ("userName", "userPassword"), ("user_name", "user_password"),
    ("login_id", "pw"), ("j_username", "j_password"), ("emailAddress", "passphrase"),
    ("txtUserName", "txtPassword"), ("ctl00$Main$UserName", "ctl00$Main$Password"),
    ("username_or_email", "password1"), ("log", "pwd"), ("uid", "pass"), ("name", "senha"),
    ("loginForm:user", "loginForm:pass"), ("account.email", "account.password"),
    ("UserID", "LoginPass"), ("phoneNumber", "passcode"), ("identity", "current-password"),
  ])
  func fieldNames(user: String, password: String) throws {
    let body = #"{"x":{"\#(user)":"ada","rememberMe":"no","\#(password)":"hunter2"}}"#
    let recipe = try CurlRecipe(pasted: "curl https://h/in --json '\(body)'")
    #expect(recipe.username == "ada" && recipe.password?.text == "hunter2")
    let template =
      #"{"x":{"\#(user)":"{username}","rememberMe":"no","\#(password)":"{password}"}}"#
    #expect(try recipe.shown().last == "login.body \(template)")
    #expect(try recipe.json() == body)
  }

  @Test func theSameNameTwice() throws {
    let recipe = try CurlRecipe(
      pasted:
        "curl https://h -d 'login=ada&email=ada&password=s3cret&confirm_password=s3cret&x=s3cret'")
    #expect(
      try recipe.shown().last
        == #"login.body {"login":"{username}","email":"{username}","password":"{password}","#
        + #""confirm_password":"{password}","x":"{password}"}"#)
    let other = try CurlRecipe(
      pasted: "curl https://h -d 'email=a@b&username=ada&pass=p4&login=Sign+in'")
    #expect(other.username == "ada")
    #expect(
      try other.shown().last
        == #"login.body {"email":"a@b","username":"{username}","pass":"{password}","#
        + #""login":"Sign in"}"#)
  }

  @Test func userAndPasswordAlike() throws {
    let recipe = try CurlRecipe(pasted: "curl https://h -d 'user=admin&password=admin&role=admin'")
    #expect(
      try recipe.shown().last
        == #"login.body {"user":"{username}","password":"{password}","role":"admin"}"#)
  }

  @Test func otherPasswordsAreNotKept() throws {
    let recipe = try CurlRecipe(
      pasted:
        "curl https://h -d 'user=ada&password=hunter2&pin=4711&password_hash=c0ffee00&show_password='"
    )
    #expect(
      try recipe.shown().last
        == #"login.body {"user":"{username}","password":"{password}","show_password":""}"#)
    #expect(
      recipe.notes == [
        "pin was left out: it looks like another password",
        "password_hash was left out: it looks like another password",
      ])
    #expect(
      failure(pasted: "curl https://h -d 'user=ada&password=a&passwd=b'")?.message
        == "the curl command has several passwords: password, passwd")
  }

  /// Asks only for fields that no known name identifies.
  @Test func asksWhichFieldItIs() throws {
    func recipe(_ body: String, _ answers: [String]) throws -> (CurlRecipe, questions: [String]) {
      var (rest, questions) = (answers, [String]())
      let recipe = try CurlRecipe(try CurlLine("curl https://h -d '\(body)'")) { question in
        questions.append(question)
        return rest.isEmpty ? "" : rest.removeFirst()
      }
      return (recipe, questions)
    }
    let (both, questions) = try recipe("wer=ada&kode=hunter2&lang=de", ["nothing", "kode", "wer"])
    #expect(both.username == "ada" && both.password?.text == "hunter2")
    #expect(
      try both.shown().last
        == #"login.body {"wer":"{username}","kode":"{password}","lang":"de"}"#)
    #expect(
      questions == [
        "Which field holds the password (wer, kode, lang)",
        "Which field holds the password (wer, kode, lang)",
        "Which field holds the user name (wer, lang)",
      ])
    let (none, second) = try recipe("wer=ada&password=hunter2", [])
    #expect(none.username == nil && second == ["Which field holds the user name (wer)"])
    #expect(try recipe("user=ada&password=hunter2&x=y", []).questions == [])
    #expect(throws: Failure.self) { try recipe("wer=ada&kode=hunter2", []) }
    // Bytes that cannot be part of a name may be a value in the wrong place.
    #expect(throws: Failure.self) { try recipe("hunter2!%3D=x", ["hunter2!="]) }
  }

  @Test func thePasswordInsideOtherText() throws {
    let recipe = try CurlRecipe(
      pasted:
        #"curl https://h/a/hunter2 -H 'X-Auth: ada/hunter2' -d '{"user":"ada","pass":"hunter2"}'"#)
    #expect(
      try recipe.shown() == [
        "login.path /a/{password}", "login.encoding json",
        #"login.headers {"X-Auth":"ada/{password}"}"#,
        #"login.body {"user":"{username}","pass":"{password}"}"#, "login.secrets_in_url true",
      ])
  }

  @Test(arguments: [
    (#"{"username":"","password":""}"#, nil), (#"{"username":"<name>","password":"<pw>"}"#, nil),
    (#"{"username":"{{user}}","password":"{{password}}"}"#, nil),
    (#"{"username":"ada","password":"********"}"#, "ada"),
  ])
  func standIns(body: String, name: String?) throws {
    let recipe = try CurlRecipe(pasted: "curl https://h --json '\(body)'")
    #expect(recipe.username == name && recipe.password == nil)
    #expect(
      try recipe.shown().last == #"login.body {"username":"{username}","password":"{password}"}"#)
  }

  // MARK: - Other secrets

  @Test func secretsOfTheApplication() throws {
    let recipe = try CurlRecipe(
      pasted:
        """
        curl 'https://h/auth/v1/token?grant_type=password' -H 'apikey: k3y' \
        -H 'Authorization: Bearer k3y' -H 'X-Other-Key: other' \
        -d '{"email":"ada","password":"pw","client_id":"cli","client_secret":"s3cr",
             "refresh_token":"r3fr","token_name":"laptop","otp":"123456","captchaToken":"c4p"}'
        """)
    #expect(
      try recipe.shown() == [
        #"public ["token_name"]"#, "login.path /auth/v1/token", "login.encoding json",
        #"login.query {"grant_type":"password"}"#,
        #"login.headers {"apikey":"{app_key}","Authorization":"Bearer {app_key}"}"#,
        #"login.body {"email":"{username}","password":"{password}","client_id":"cli","#
          + #""client_secret":"{client_secret}","token_name":"laptop","otp":"{otp}"}"#,
      ])
    #expect(
      recipe.notes == [
        "the body is JSON: it is sent as application/json",
        "apikey is not kept: it is asked for (--app-key-stdin)",
        "X-Other-Key was left out: a recipe has one key of the application",
        "client_secret is not kept: it is asked for (--client-secret-stdin)",
        "refresh_token was left out: it looks like a token of an earlier sign-in",
        "token_name is kept in the profile, as something public",
        "otp is a code: it is asked for (--otp-stdin)",
        "captchaToken was left out: the answer to a captcha is good once",
      ])
    for value in ["k3y", "other", "s3cr", "r3fr", "123456", "c4p"] {
      #expect(!(try recipe.shown() + recipe.notes).contains { $0.contains(value) })
    }
  }

  @Test(arguments: [
    ("X-Api-Key", "{app_key}"), ("access_key", "{app_key}"), ("appSecret", "{app_key}"),
    ("api_token", "{app_key}"), ("X-Client-Token", "{app_key}"),
    ("oauth_client_secret", "{client_secret}"),
    ("clientSecret", "{client_secret}"), ("token", nil), ("X-Session-Key", nil),
    ("accessToken", nil), ("_csrf", nil), ("woocommerce-login-nonce", nil),
    ("twoFactorCode", "{otp}"),
  ])
  func namesOfSecrets(name: String, template: String?) throws {
    let recipe = try CurlRecipe(
      pasted: #"curl https://h --json '{"user":"a","pass":"b","\#(name)":"c"}'"#)
    let body = try #require(recipe.settings.last?.value)
    #expect(body[name]?.text == template)
    #expect(recipe.notes.count == 1)
    _ = try recipe.shown()
  }

  @Test func tokensOfAnEarlierSignIn() throws {
    let recipe = try CurlRecipe(
      pasted:
        """
        curl https://h -H 'Authorization: Bearer eyJold' -H 'X-Auth-Token: t0k' -H 'Cookie: a=b' \
        -H 'Proxy-Authorization: Basic eDp5' -d 'username=ada&password=pw'
        """)
    #expect(try recipe.shown().count == 3)
    #expect(
      recipe.notes == [
        "cookies were left out: authctl keeps its own",
        "Proxy-Authorization was left out: a recipe cannot send such a header",
        "X-Auth-Token was left out: it looks like a token of an earlier sign-in",
        "Authorization was left out: it looks like a token of an earlier sign-in",
      ])
  }

  @Test func secretsInTheURL() throws {
    let recipe = try CurlRecipe(
      pasted:
        "curl -G https://h/login -d user=ada --data-urlencode 'pass=a&b' -d v=1 -d api_key=k3y")
    #expect(
      try recipe.shown() == [
        "login.method GET", "login.path /login", "login.encoding none",
        #"login.query {"user":"{username}","pass":"{password}","v":"1","api_key":"{app_key}"}"#,
        "login.secrets_in_url true",
      ])
    #expect(recipe.password?.text == "a&b")
    #expect(recipe.notes.last?.contains("secrets_in_url") == false)
    let name = try CurlRecipe(pasted: "curl 'https://h/in?user=ada' -d password=pw")
    #expect(try name.shown().contains("login.secrets_in_url true") == false)
  }
}
