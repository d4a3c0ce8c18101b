import Testing

@testable import AuthKit

@Suite struct NextPageTests {
  @Test(
    arguments: [
      ([#"</b>; rel="next""#], "/b"),
      (["</b>; rel=next"], "/b"),
      (["</b>;REL=NEXT"], "/b"),
      ([#"</a>; rel="prev", </b>; rel="next""#], "/b"),
      ([#"</a>; rel="prev""#, #"</b>; rel="next""#], "/b"),
      ([#"<https://h/?a=1,2;3>; rel="next"; title="x, <y>; rel=last""#], "https://h/?a=1,2;3"),
      (
        [#"</a>; title="a \"quoted\", </x>; rel=\"next\""; rel=last, </b> ; rel = "last next""#],
        "/b"
      ),
      ([#"</b>; rel="first"; rel="next""#], nil),
      ([#"</b>; rel="nextish""#], nil),
      ([#"</b>; anchor="/other"; rel="next""#], nil),
      ([#"</b>; title=next"#], nil),
      ([#"</b>;;rel="next";"#], "/b"),
      ([" , , </b>;rel=next ,"], "/b"),
      (["<>; rel=next"], ""),
      ([#"</b; rel="next""#], nil),
      ([#"/b; rel="next""#, #"</c>; rel="next""#], "/c"),
      ([#"</b>; rel="next"#], "/b"),
      ([""], nil),
      ([], nil),
    ] as [([String], String?)])
  func links(values: [String], target: String?) {
    #expect(LinkHeader.next(in: values) == target)
  }

  @Test(arguments: [
    ("", "cursor=x"), ("cursor=a", "cursor=x"), ("a=1&cursor=b&c=2", "a=1&cursor=x&c=2"),
    ("cursor=a&b=1&cursor=c", "cursor=x&b=1"), ("cursors=a&cursor", "cursors=a&cursor=x"),
    ("cur%73or=a", "cursor=x"), ("a=%2F+b", "a=%2F+b&cursor=x"),
  ])
  func parameterIsReplaced(query: String, new: String) {
    #expect(NextPage.query(query, setting: "cursor", to: "x") == new)
  }

  @Test func valuesAreEncoded() {
    #expect(
      NextPage.query("page[after]=1&page%5bafter%5D=2&b", setting: "page[after]", to: "a b&=+/é~")
        == "page%5Bafter%5D=a%20b%26%3D%2B%2F%C3%A9~&b")
  }

  @Test(
    arguments: [
      ("/a=b", NextPage.cursor("/a", parameter: "b")),
      ("/a=x=b", .cursor("/a=x", parameter: "b")), ("/=b", .cursor("/", parameter: "b")),
      ("a=b", nil), ("/a", nil), ("/a=", nil), ("=b", nil), ("/~2=b", nil), ("", nil),
    ] as [(String, NextPage?)])
  func cursors(text: String, page: NextPage?) {
    #expect(NextPage(cursor: text) == page)
  }

  /// Body, the place of the next page, and the expected URL; `!` for a failure.
  @Test(
    arguments: [
      (#"{"next":"/b?c=1"}"#, "/next", "https://h/b?c=1"),
      (#"{"next":"b"}"#, "/next", "https://h/v2/b"),
      (#"{"next":"?p=2"}"#, "/next", "https://h/v2/a?p=2"),
      (#"{"next":null}"#, "/next", nil), (#"{"next":""}"#, "/next", nil),
      (#"{"next":false}"#, "/next", nil), (#"{}"#, "/next", nil), (#"[]"#, "/next", nil),
      (#"{"next":2}"#, "/next", "!"), (#"{"next":{}}"#, "/next", "!"),
      (#"{"next":true}"#, "/next", "!"), (#"{"next":"a","next":"b"}"#, "/next", "!"),
      (#"{"next":"ftp://h/"}"#, "/next", "!"), (#"{"next":"https://u@h/"}"#, "/next", "!"),
      (#"{"next":"/b"}"#, "", nil),
      (#"{"@odata.nextLink":"https://h/odata?$skip=2"}"#, "", "https://h/odata?$skip=2"),
      (#"{"_links":{"next":{"href":"/hal"}}}"#, "", "https://h/hal"),
      (#"{"links":{"next":"/api"}}"#, "", nil),
      (#"{"m":{"c":"x y"}}"#, "/m/c=cursor", "https://h/v2/a?q=1&cursor=x%20y"),
      (#"{"m":{"c":10}}"#, "/m/c=q", "https://h/v2/a?q=10"),
      (#"{"m":{"c":""}}"#, "/m/c=cursor", nil), (#"{"m":{}}"#, "/m/c=cursor", nil),
      (#"{"m":{"c":true}}"#, "/m/c=cursor", "!"), (#"{"m":{"c":[1]}}"#, "/m/c=cursor", "!"),
    ] as [(String, String, String?)])
  func bodies(body: String, place: String, next: String?) throws {
    let page = try #require(
      place.isEmpty ? .usual : NextPage(cursor: place) ?? NextPage(pointer: place))
    let url = try WebURL("https://h/v2/a?q=1", from: .person)
    var head = ResponseHead()
    head.add(line: "Content-Type: application/json")
    var found: String?
    do throws(Failure) {
      found = try page.url(after: head, at: url) { () throws(Failure) in Self.json(body) }?.text
    } catch {
      found = "!"
    }
    #expect(found == next)
  }

  private static func json(_ text: String) -> JSONText? {
    try? JSONText(ByteBuffer(Array(text.utf8)))
  }

  @Test func mediaTypesOfBodies() throws {
    let url = try WebURL("https://h/a", from: .person)
    let body = Self.json(#"{"links":{"next":{"href":"/b"}},"@odata.nextLink":"/c"}"#)
    for (type, next) in [
      ("application/vnd.api+json", "https://h/c"),
      ("application/json; charset=utf-8", "https://h/c"),
      ("text/plain", nil),
    ] {
      var head = ResponseHead()
      head.add(line: "Content-Type: \(type)")
      let found = try NextPage.usual.url(after: head, at: url) { () throws(Failure) in body }
      #expect(found?.text == next, "\(type)")
    }
    var head = ResponseHead()
    head.add(line: "Content-Type: application/vnd.api+json")
    let found = try NextPage.usual.url(after: head, at: url) { () throws(Failure) in
      Self.json(#"{"links":{"next":{"href":"/b"}}}"#)
    }
    #expect(found?.text == "https://h/b")
  }
}

@Suite struct RetryTests {
  /// If the server names no delay: 1, 2, 4 … 60 s.
  @Test func doubles() {
    var retry = RetryPolicy()
    retry.times = 100
    let waits = (1...9).map { retry.wait(failed: $0, elapsed: 0, told: nil, jitter: 1) }
    #expect(waits == [1, 2, 4, 8, 16, 32, 60, 60, 60])
    #expect(retry.wait(failed: 100, elapsed: 1e6, told: nil, jitter: 1.2) == 60)
    #expect(retry.wait(failed: 101, elapsed: 0, told: nil) == nil)
    for _ in 0..<100 {
      let wait = retry.wait(failed: 1, elapsed: 0, told: nil) ?? 0
      #expect((0.8...1.2).contains(wait))
    }
    #expect(RetryPolicy().wait(failed: 1, elapsed: 0, told: 0) == nil)
  }

  @Test func bounds() {
    var retry = RetryPolicy()
    retry.times = 3
    for (told, wait) in [(0, 0), (60, 60), (61, nil), (.infinity, nil)] as [(Double, Double?)] {
      #expect(retry.wait(failed: 1, elapsed: 0, told: told) == wait)
    }
    retry.maximumTime = 100
    for (elapsed, told, wait) in [
      (0, 61, 61), (0, 100, 100), (0, 101, nil), (50, 50, 50), (50, 51, nil), (99.5, nil, nil),
      (98, nil, 1),
    ] as [(Double, Double?, Double?)] {
      #expect(retry.wait(failed: 1, elapsed: elapsed, told: told, jitter: 1) == wait)
    }
  }

  /// The decision after each try, for a single request and for a batch.
  @Test func decisions() {
    func answer(_ status: Int, _ told: Double? = nil) -> RetryPolicy.Outcome {
      .answer(status: status, told: told)
    }
    func failure(_ kind: Failure.Kind, ofRequest: Bool) -> RetryPolicy.Outcome {
      var failure = Failure(kind, "it failed")
      failure.isOfRequest = ofRequest
      return .failure(failure)
    }
    let lost = failure(.network, ofRequest: true)
    let get = RetryPolicy.Tried(method: "GET")
    func tried(_ change: (inout RetryPolicy.Tried) -> Void) -> RetryPolicy.Tried {
      var tried = get
      change(&tried)
      return tried
    }
    // --retry, --retry-max-time, --retry-all-methods
    let cases:
      [(Int, Double?, Bool, RetryPolicy.Outcome, RetryPolicy.Tried, RetryPolicy.Decision)] = [
        (2, nil, false, answer(200), get, .take), (2, nil, false, answer(404), get, .take),
        (2, nil, false, answer(0), get, .take),
        (2, nil, false, answer(503), get, .again(seconds: 1)),
        (2, nil, false, answer(429, 7), get, .again(seconds: 7)),
        (2, nil, false, lost, get, .again(seconds: 1)),
        (2, nil, false, failure(.network, ofRequest: false), get, .take),
        (2, nil, false, failure(.sessionExpired, ofRequest: false), get, .take),
        (0, nil, false, answer(503), get, .take), (0, nil, true, lost, get, .take),
        // The last of three tries.
        (2, nil, false, lost, tried { $0.times = 2 }, .again(seconds: 2)),
        (2, nil, false, lost, tried { $0.times = 3 }, .take),
        (2, nil, false, answer(503, 61), tried { $0.times = 3 }, .take),
        // Methods, and bodies that cannot be sent again.
        (2, nil, false, lost, RetryPolicy.Tried(method: "POST"), .take),
        (2, nil, true, lost, RetryPolicy.Tried(method: "POST"), .again(seconds: 1)),
        (2, nil, true, lost, tried { $0.isRepeatable = false }, .take),
        // Time limits.
        (2, nil, false, answer(503, 60), get, .again(seconds: 60)),
        (2, nil, false, answer(503, 61), get, .tooLong(seconds: 61)),
        (2, 100, false, answer(503, 61), get, .again(seconds: 61)),
        (2, 100, false, answer(503, 101), get, .take),
        (2, 100, false, lost, tried { $0.elapsed = 99.5 }, .take),
        (2, nil, false, lost, tried { $0.left = 1 }, .take),
        (2, nil, false, lost, tried { $0.left = 1.5 }, .again(seconds: 1)),
      ]
    for (index, (times, most, all, outcome, tried, decision)) in cases.enumerated() {
      var policy = RetryPolicy()
      policy.times = times
      policy.maximumTime = most
      policy.allMethods = all
      #expect(policy.decide(outcome, of: tried, jitter: 1) == decision, "case \(index)")
    }
  }

  @Test func methods() {
    var retry = RetryPolicy()
    #expect(!retry.covers(method: "GET"))
    retry.times = 1
    #expect(retry.covers(method: "GET") && retry.covers(method: "HEAD"))
    #expect(!retry.covers(method: "POST") && !retry.covers(method: "get"))
    retry.allMethods = true
    #expect(retry.covers(method: "POST"))
    let statuses = (100...599).filter(RetryPolicy.isPassing)
    #expect(statuses == [408, 429, 500, 502, 503, 504])
  }

  /// 784111777 is Sun, 06 Nov 1994 08:49:37 GMT.
  @Test(
    arguments: [
      ("0", 0), ("120", 120), ("007", 7), ("99999999999999999999999", 1e23),
      (String(repeating: "9", count: 400), .infinity),
      ("Sun, 06 Nov 1994 08:49:47 GMT", 10), ("Sunday, 06-Nov-94 08:49:47 GMT", 10),
      ("Sun Nov  6 08:49:47 1994", 10), ("Sun, 06 Nov 1994 08:49:07 GMT", 0),
      ("-1", nil), ("1.5", nil), ("soon", nil), ("", nil), ("1e3", nil), ("٣", nil),
    ] as [(String, Double?)])
  func retryAfter(text: String, seconds: Double?) {
    var head = ResponseHead()
    Array("Retry-After: \(text)".utf8).withUnsafeBytes { head.add(line: $0) }
    #expect(RetryPolicy.retryAfter(head, now: Timestamp(seconds: 784_111_777)) == seconds)
  }

  /// A Retry-After date is relative to the server's clock.
  @Test func clocksThatDiffer() {
    var head = ResponseHead()
    head.add(line: "Retry-After: Sun, 06 Nov 1994 08:49:47 GMT")
    head.add(line: "Date: Sun, 06 Nov 1994 08:49:40 GMT")
    #expect(RetryPolicy.retryAfter(head, now: Timestamp(seconds: 0)) == 7)
    #expect(RetryPolicy.retryAfter(ResponseHead(), now: Timestamp(seconds: 0)) == nil)
  }
}

@Suite struct PaceTests {
  @Test(
    arguments: [
      ("20/s", 0.05), ("100/m", 0.6), ("5000/h", 0.72), ("1/h", 3600), ("20", nil), ("0/s", nil),
      ("/s", nil), ("20/d", nil), ("20/s/", nil), ("-1/s", nil), ("1.5/s", nil), ("20/S", nil),
      ("1000000000/s", nil), ("", nil), (" 20/s", nil),
    ] as [(String, Double?)])
  func rates(text: String, interval: Double?) {
    #expect(RateLimit.interval(text) == interval)
  }

  @Test func turns() {
    var pace = RateLimit(interval: 2)
    #expect(pace.turn(now: 100) == 0)
    #expect(pace.turn(now: 100) == 2)
    #expect(pace.turn(now: 101) == 3)
    // Unused time is not saved up.
    #expect(pace.turn(now: 200) == 0)
    #expect(pace.turn(now: 200) == 2)
    pace.pause(10, now: 200)
    #expect(pace.turn(now: 201) == 9)
    #expect(pace.turn(now: 201) == 11)
    pace.pause(1, now: 201)
    #expect(pace.turn(now: 201) == 13)
    var free = RateLimit()
    #expect(free.turn(now: 5) == 0 && free.turn(now: 5) == 0)
  }
}

extension ResponseHead {
  fileprivate mutating func add(line: String) {
    Array(line.utf8).withUnsafeBytes { add(line: $0) }
  }
}
