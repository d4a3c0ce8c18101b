import Testing

@testable import AuthKit

private func failure(_ text: String) -> Failure? {
  do throws(Failure) {
    _ = try CurlLine(text)
    return nil
  } catch {
    return error
  }
}

private func headers(_ line: CurlLine) -> [String] {
  line.headers.map { "\($0.name): \($0.value)" }
}

private func parts(_ line: CurlLine) -> [String] { line.parts.map { "\($0.name)=\($0.value)" } }

@Suite struct CurlLineTests {
  @Test func chrome() throws {
    let line = try CurlLine(
      #"""
      curl 'https://shop.example/api/login?lang=de' \
        -H 'accept: application/json, text/plain, */*' \
        -H 'content-type: application/json' \
        -b '_ga=GA1.1.1; sid=c00k1e' \
        -H 'origin: https://shop.example' \
        -H 'sec-ch-ua: "Chromium";v="142", "Not_A Brand";v="99"' \
        -H 'x-empty;' \
        --data-raw $'{"email":"ada@shop.example","password":"it\'s a secret\u0021"}' \
        --insecure
      """#)
    #expect(line.method == "POST")
    #expect(line.url == "https://shop.example/api/login?lang=de")
    #expect(
      headers(line) == [
        "accept: application/json, text/plain, */*", "content-type: application/json",
        "origin: https://shop.example",
        #"sec-ch-ua: "Chromium";v="142", "Not_A Brand";v="99""#, "x-empty: ",
      ])
    #expect(line.data == #"{"email":"ada@shop.example","password":"it's a secret!"}"#)
    #expect(line.dropped == ["-b", "--insecure"])
    #expect(line.unknown == [] && line.leftOut == [] && line.user == nil && line.parts.isEmpty)
  }

  @Test func firefox() throws {
    let line = try CurlLine(
      #"""
      curl 'https://shop.example/login?next=%2F&x[]=1' \
        --globoff \
        --compressed \
        -X POST \
        -H 'User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0' \
        -H $'X-Greeting: hi\041' \
        -H 'Content-Type: application/x-www-form-urlencoded' \
        --data-raw 'user%5Bemail%5D=ada%40shop.example&user%5Bpassword%5D=a+b%26c'
      """#)
    #expect(line.method == "POST" && line.url == "https://shop.example/login?next=%2F&x[]=1")
    #expect(headers(line)[1] == "X-Greeting: hi!")
    #expect(line.data == "user%5Bemail%5D=ada%40shop.example&user%5Bpassword%5D=a+b%26c")
    #expect(line.unknown == [] && line.dropped == [])
  }

  @Test func safari() throws {
    let line = try CurlLine(
      #"""
      curl 'https://shop.example/api/\[v1\]/login' \
      -X 'POST' \
      -H 'Content-Type: application/json' \
      -H 'Accept: */*' \
      --data-binary $'{"username":"bj\xf6rn","password":"\u20ac\u0021"}'
      """#)
    #expect(line.method == "POST" && line.url == "https://shop.example/api/[v1]/login")
    #expect(line.data == #"{"username":"björn","password":"€!"}"#)
    #expect(try CurlLine("curl $'https://h/\\[a\\]' -XPUT").url == "https://h/[a]")
  }

  @Test func fromManuals() throws {
    let one = try CurlLine(
      """
      # sign in
      $ curl -sSfL -uada:pw -XPOST https://h/v1/token -o - 2>/dev/null | jq -r .token
      {"token": "eyJ"}
      """)
    #expect(one.user == "ada:pw" && one.method == "POST" && one.url == "https://h/v1/token")
    #expect(one.leftOut == [">", "the text after |"] && one.unknown == [])
    let two = try CurlLine("/usr/bin/curl --request=PUT --url=https://h --user ada -d a=1 -d b=2")
    #expect(two.method == "PUT" && two.url == "https://h" && two.user == "ada")
    #expect(two.data == "a=1&b=2")
    #expect(try CurlLine("curl.exe -- -h").url == "-h")
  }

  @Test(arguments: [
    ("curl h", "GET"), ("curl h -d a", "POST"), ("curl h -F a=b", "POST"), ("curl -I h", "HEAD"),
    ("curl h -G -d a", "GET"), ("curl h --get -X PATCH -d a", "PATCH"), ("curl -sXPUT h", "PUT"),
    ("curl h --json '{}'", "POST"), ("curl -XDELETE h", "DELETE"), ("curl h -d ''", "POST"),
    ("curl -GI h -d a", "HEAD"),
  ])
  func methods(text: String, method: String) throws {
    #expect(try CurlLine(text).method == method)
  }

  @Test(arguments: [
    ("-d a=1 --data b=2 --data-raw @c --data-ascii d --data-binary e", "a=1&b=2&@c&d&e"),
    ("--data-urlencode 'a b'", "a+b"), ("--data-urlencode '=a&b'", "a%26b"),
    ("--data-urlencode 'pw=a=b@c é'", "pw=a%3Db%40c+%C3%A9"),
    ("-d a=1 --data-urlencode b=2+2", "a=1&b=2%2B2"), ("--json '{\"a\":' --json '1}'", "{\"a\":1}"),
    ("-d ''", ""), ("-d -", "-"),
  ])
  func bodies(options: String, data: String) throws {
    let line = try CurlLine("curl https://h \(options)")
    #expect(line.data == data)
    #expect(line.isJSON == options.contains("--json"))
  }

  @Test func forms() throws {
    let line = try CurlLine(
      #"curl h -F user=ada -F 'pw=a b;type=text/plain' -F 'q="x;\"y\\"' --form-string 'at=@a;b'"#)
    #expect(parts(line) == ["user=ada", "pw=a b", #"q=x;"y\"#, "at=@a;b"])
    #expect(parts(try CurlLine("curl h -Fa= -F 'b= c ' -F '=d'")) == ["a=", "b=c", "=d"])
  }

  @Test(arguments: [
    ("curl -G h?a=1 -d b=2 --data-urlencode 'c=x y'", "h?a=1&b=2&c=x+y"),
    ("curl -G h -d a", "h?a"), ("curl -G 'h#frag' -d a", "h?a"), ("curl -G 'h?' -d a", "h?a"),
    ("curl -G h -d ''", "h"), ("curl h --url-query a=b --url-query +c%20d", "h?a=b&c%20d"),
    ("curl --url h", "h"), ("curl 'https://[::1]:8080/a'", "https://[::1]:8080/a"),
    ("curl -g 'h/{a}'", "h/{a}"), (#"curl 'h/\{a\}\[1\]\x'"#, #"h/{a}[1]\x"#),
  ])
  func urls(text: String, url: String) throws { #expect(try CurlLine(text).url == url) }

  @Test func headersOfOptions() throws {
    let line = try CurlLine(
      "curl h -A agent -e https://r --oauth2-bearer t0k -H ':authority: h' -H 'A:  b ' -H C: -H d")
    #expect(
      headers(line) == [
        "User-Agent: agent", "Referer: https://r", "Authorization: Bearer t0k", "authority: h",
        "A: b", "C: ",
      ])
  }

  @Test func optionsThatShapeNothing() throws {
    let line = try CurlLine(
      """
      curl h -s -S -i -v -L -o /dev/null -w '%{http_code}\\n' -O -D - -m 5 --connect-timeout 3 \
      --retry 3 --compressed --http1.1 -4 -N -# -f --fail-with-body --max-redirs 5 -c jar \
      --no-progress-meter --tlsv1.2 --location --show-error --no-keepalive --stderr - -J -R
      """)
    #expect(line.url == "h" && line.unknown == [] && line.dropped == [])
  }

  @Test func optionsThatNoRecipeExpresses() throws {
    let line = try CurlLine(
      """
      curl --cacert ca.pem -x proxy:3128 h -E cert:pw --resolve h:443:127.0.0.1 --frobnicate -sZn \
      --unix-socket /s -k -K file --expand-data '{{x}}' -k --cookie a=b --netrc --proxy-insecure
      """)
    #expect(
      line.unknown == [
        "--cacert", "-x", "-E", "--resolve", "--frobnicate", "-n", "--unix-socket", "-K",
        "--expand-data", "--netrc", "--proxy-insecure",
      ])
    #expect(line.url == "h" && line.dropped == ["-k", "--cookie"])
    #expect(try CurlLine("curl --digest -u a:b h").otherSignIn == "--digest")
    #expect(try CurlLine("curl --aws-sigv4 aws:amz -u a:b h").otherSignIn == "--aws-sigv4")
  }

  @Test func onlyTheFirstRequest() throws {
    let line = try CurlLine("curl https://h/a -d x --next https://h/b -d y")
    #expect(line.url == "https://h/a" && line.data == "x")
    #expect(line.leftOut == ["the text after --next"])
    #expect(try CurlLine("curl https://h/a -: https://h/b").url == "https://h/a")
  }

  @Test(arguments: [
    ("", "there is no curl command"), ("$ ", "there is no curl command"),
    ("wget pw", "the command does not begin with curl"),
    ("PW=pw curl h", "the command does not begin with curl"),
    ("Invoke-WebRequest -Uri pw", "the command does not begin with curl"),
    ("curl", "the curl command has no URL"), ("curl -d pw", "the curl command has no URL"),
    ("curl ''", "the curl command has no URL"),
    ("curl h pw", "the curl command has 2 URLs, or a value without its option"),
    ("curl h -d", "the curl command ends after -d, which needs a value"),
    ("curl h --header", "the curl command ends after --header, which needs a value"),
    ("curl h -d @pw", "-d: authctl does not read the files of a pasted command"),
    ("curl h -d@-", "-d: authctl does not read the files of a pasted command"),
    ("curl h --json @pw", "--json: authctl does not read the files of a pasted command"),
    (
      "curl h --data-binary @pw",
      "--data-binary: authctl does not read the files of a pasted command"
    ),
    (
      "curl h --data-urlencode n@pw",
      "--data-urlencode: authctl does not read the files of a pasted command"
    ),
    ("curl h -F f=@pw", "-F: authctl does not read the files of a pasted command"),
    ("curl h -F 'f=<pw'", "-F: authctl does not read the files of a pasted command"),
    ("curl h -F 'f=(pw'", "-F: nested forms are not supported"),
    ("curl h -F pw", "-F needs NAME=VALUE"),
    ("curl h -T pw", "-T: authctl does not read the files of a pasted command"),
    ("curl h -H @pw", "-H: authctl does not read the files of a pasted command"),
    ("curl h -X 'P W'", "the value of -X is not an HTTP method (RFC 9110)"),
    ("curl h -d pw -F a=b", "the curl command has both -d and -F, which cannot be used together"),
    ("curl https://h/{pw}", "the URL of the curl command contains a brace"),
    ("curl 'https://{{pw}}/'", "the URL of the curl command contains a brace"),
  ])
  func refuses(text: String, message: String) {
    let failure = failure(text)
    #expect(failure?.kind == .usage && failure?.message == message)
    #expect(failure.map { !($0.message + ($0.hint ?? "")).contains("pw") } == true)
  }

  @Test func hostile() throws {
    #expect(failure("curl h --\u{1B}[2Jpw")?.message.contains("control") == true)
    #expect(try CurlLine("curl h '--\u{1B}[2J pw'").unknown == ["an option"])
    #expect(try CurlLine("curl h '-\u{1B}'").unknown == ["an option"])
    #expect(failure("curl h -d 'a\0b'")?.message.contains("NUL") == true)
    let big = String(repeating: "x", count: (1 << 20) - 20)
    #expect(try CurlLine("curl h -d '\(big)'").data?.utf8.count == big.utf8.count)
    let many = String(repeating: "-H a:b ", count: 100_000)
    #expect(try CurlLine("curl h \(many)").headers.count == 100_000)
    #expect(try CurlLine("curl h -H 'Ключ: знач' -d é").data == "é")
  }
}
