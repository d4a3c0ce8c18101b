internal import AuthKit

/// An answer that is read whole.
final class Page {
  /// The most bytes of a page, which is held in memory.
  private static let largest = 64 << 20

  private(set) var head: ResponseHead
  private(set) var url: WebURL
  let body = ByteBuffer()
  /// The name in messages.
  private let name: String
  private var checked: JSONText?

  /// - Parameter name: the name in messages.
  init(_ name: String, _ head: ResponseHead, _ url: WebURL) {
    self.name = name
    self.head = head
    self.url = url
  }

  func receiveBody(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    guard body.count + bytes.count <= Self.largest else {
      throw Failure(
        .failed, "\(name) is larger than \(Self.largest >> 20) MiB",
        hint: "without --paginate and --each, the length is not limited")
    }
    body.append(bytes)
  }

  /// The body's JSON; nil for an empty body.
  ///
  /// - Throws: `failed` for a body that is not JSON.
  func json() throws(Failure) -> JSONText? {
    if checked == nil, !body.isEmpty {
      do throws(JSONError) { checked = try JSONText(body) } catch {
        throw failure("is not JSON: \(error)")
      }
    }
    return checked
  }

  func failure(_ text: String, hint: String? = nil) -> Failure {
    var failure = Failure(.failed, "\(name) \(text)", hint: hint)
    failure.url = Redactor.withoutQuery(url.text)
    return failure
  }
}

extension RequestRun {
  /// Requests one page after another and passes each to a `PageWriter`.
  func deliver(
    _ pages: PageOptions, _ wanted: ProtectedRequest, _ asking: Asking,
    by attempts: inout RetryingSender
  ) throws(Failure) -> Int32 {
    var wanted = wanted
    wanted.redirects.staysHome = pages.paginate && asking.origins != nil
    let origins = asking.origins ?? [wanted.request.url.origin]
    let place = try pages.place(in: asking.profile.recipe.nextPage)
    let writer = PageWriter(app.console, options.output, pages, filter)
    var seen: Set<Int> = []
    for number in 1... {
      seen.insert(Self.mark(wanted.request.url))
      let page = try page(
        pages.paginate ? "page \(number)" : "the answer", wanted, by: &attempts)
      seen.insert(Self.mark(page.url))
      let head = shown(page.head, asking.profile)
      try observers.receiveHead(page.head, head)
      let shownHead = options.output.include ? head : nil
      guard isSuccess(page.head.status) else {
        try writer.refuse(page, shownHead)
        let failure = statusFailure(page.head, page.url, wanted.request.method, asking)
        app.console.status(failure)
        return failure.kind.exitCode
      }
      try writer.add(page, shownHead)
      guard pages.paginate, !writer.isFull(after: number),
        let next = try next(after: page, number, place, origins)
      else { break }
      guard !seen.contains(Self.mark(next)) else {
        throw Self.refusal(
          number, "\(Redactor.withoutQuery(next.text)) was already fetched")
      }
      wanted.request.url = next
    }
    try writer.finish()
    observers.tellSaved(writer.sink)
    return 0
  }

  /// Returns a hash of the URL, so that a thousand pages need little memory. Each process has its
  /// own seed, so a server cannot cause collisions.
  private static func mark(_ url: WebURL) -> Int {
    var hasher = Hasher()
    for byte in url.text.utf8 { hasher.combine(byte) }
    return hasher.finalize()
  }

  private func page(
    _ name: String, _ wanted: ProtectedRequest, by attempts: inout RetryingSender
  ) throws(Failure) -> Page {
    var page: Page?
    try attempts.send(wanted) {
      true
    } onHead: { (head, hops) throws(Failure) in
      page = Page(name, head, hops.url)
    } onBody: { (bytes) throws(Failure) in
      try page?.receiveBody(bytes)
    }
    guard let page else { throw Failure(.network, "\(name) was not received") }
    return page
  }

  /// Returns the URL of the page after `page`, if its origin may get the credential (rule A12).
  private func next(
    after page: Page, _ number: Int, _ place: NextPage, _ origins: [Origin]
  ) throws(Failure) -> WebURL? {
    let url: WebURL?
    do throws(Failure) {
      url = try place.url(after: page.head, at: page.url) { () throws(Failure) in try page.json() }
    } catch {
      guard error.kind == .originRefused else { throw error }
      throw Self.refusal(number, error.message)
    }
    guard let url else {
      if place == .usual, number == 1, let pointer = NextPage.hint(in: try? page.json()) {
        app.console.hint("this is one page; for more, try --next \(pointer)")
      }
      return nil
    }
    if page.url.origin.isSecure, !url.origin.isSecure {
      throw Self.refusal(number, "\(Redactor.withoutQuery(url.text)) does not use https")
    }
    guard origins.contains(url.origin) else {
      throw Self.refusal(
        number, "\(url.origin) is another origin",
        hint: "to allow it, add it to network.allow_origins in the profile and sign in again")
    }
    return url
  }

  private static func refusal(_ number: Int, _ text: String, hint: String? = nil) -> Failure {
    Failure(
      .originRefused, "refused to continue after page \(number): \(text)", hint: hint)
  }
}

/// The output of pages: one document after another, one array, or the elements of each.
final class PageWriter {
  /// The most bytes that --slurp holds of all pages.
  private static let largest = 256 << 20

  private let console: Console
  private let output: OutputOptions
  private let pages: PageOptions
  private let filter: JQFilter?
  /// Whether pages share one output: a file, the lines of --each, the array of --slurp.
  private let isOne: Bool
  /// The sink of all pages, or of the last one.
  private(set) var sink: BodySink?
  private let array = ByteBuffer()
  private var lastHead: ResponseHead?
  private var items = 0

  init(
    _ console: Console, _ output: OutputOptions, _ pages: PageOptions, _ filter: JQFilter?
  ) {
    self.console = console
    self.output = output
    self.pages = pages
    self.filter = filter
    isOne = pages.slurp || pages.each != nil || output.file.map { $0 != "-" } ?? false
  }

  /// Returns whether --max-pages or --max-items is reached.
  func isFull(after page: Int) -> Bool {
    page >= pages.maximumPages ?? .max || items >= pages.maximumItems ?? .max
  }

  func add(_ page: Page, _ shownHead: String?) throws(Failure) {
    if pages.slurp { return try keep(page) }
    let isLines = pages.each != nil
    if let sink, isOne {
      if let shownHead { try Self.put(Array(shownHead.utf8), into: sink) }
    } else {
      sink = try BodySink(
        console, head: page.head, output, filter, isWanted: true, shownHead: shownHead,
        isLines: isLines)
    }
    guard let sink else { return }
    if let pointer = pages.each {
      try putElements(of: page, at: pointer, into: sink)
    } else {
      try page.body.withBytes(sink.receiveBody)
      try sink.endPage()
      if !isOne { try sink.finish() }
    }
  }

  /// Writes what is left after the last page.
  func finish() throws(Failure) {
    if pages.slurp, let lastHead {
      sink = try BodySink(console, head: lastHead, output, nil, isWanted: true, shownHead: nil)
      add(array.isEmpty ? "[]\n" : "]\n")
    }
    guard isOne, let sink else { return }
    if pages.slurp { try array.withBytes(sink.receiveBody) }
    try sink.finish()
  }

  /// Shows an error answer in place of a page, but never among elements.
  func refuse(_ page: Page, _ shownHead: String?) throws(Failure) {
    sink?.abandon()
    let isMade = pages.slurp || pages.each != nil
    let sink = try BodySink(
      console, head: page.head, output, nil, isWanted: false, shownHead: isMade ? nil : shownHead,
      isLines: isMade)
    try page.body.withBytes(sink.receiveBody)
    try sink.finish()
  }

  private func keep(_ page: Page) throws(Failure) {
    lastHead = page.head
    guard try page.json() != nil else { return }
    guard array.count + page.body.count < Self.largest else {
      throw Failure(
        .failed, "the pages are larger than \(Self.largest >> 20) MiB",
        hint: "--slurp keeps all pages in memory; use --each /POINTER to keep only one")
    }
    add(array.isEmpty ? "[" : ",")
    // Keep the bytes, so that no number changes; a byte order mark is valid only at the start.
    page.body.withBytes { bytes in
      var body = bytes[...]
      if body.starts(with: [0xEF, 0xBB, 0xBF]) { body = body.dropFirst(3) }
      while let byte = body.last, byte <= 0x20 { body.removeLast() }
      array.append(UnsafeRawBufferPointer(rebasing: body))
    }
  }

  private func add(_ text: String) { Array(text.utf8).withUnsafeBytes { array.append($0) } }

  /// Writes the elements of the array at `pointer`, compact, one per line.
  private func putElements(
    of page: Page, at pointer: String, into sink: BodySink
  ) throws(Failure) {
    guard let json = try page.json() else { return }
    let found: JSONText?
    do throws(JSONPointerError) { found = try json.at(pointer) } catch {
      throw page.failure("has a duplicate key in \(pointer)")
    }
    guard let found, found.kind == .array else {
      // Some servers send null for an empty list, and --ok accepts any answer.
      if found?.kind == .null || page.head.status >= 300 { return }
      throw page.failure("has no array at \(pointer): \(json.shape())")
    }
    let lines = Lines(sink)
    let most = pages.maximumItems ?? .max
    try found.forEachElement { (element) throws(Failure) in
      guard items < most else { return false }
      if let filter {
        do throws(Failure) {
          try filter.run(on: element) { (result) throws(Failure) in try lines.add(result) }
        } catch {
          try lines.flush()
          throw error
        }
      } else {
        try element.write { (bytes) throws(Failure) in try lines.add(bytes) }
        lines.end()
      }
      items += 1
      return true
    }
    try lines.flush()
  }

  /// A buffer that passes on many short lines at a time.
  private final class Lines {
    private static let usual = 65_536
    private let sink: BodySink
    private var bytes: [UInt8] = []

    init(_ sink: BodySink) { self.sink = sink }

    func add(_ more: UnsafeRawBufferPointer) throws(Failure) {
      if more.count > Self.usual {
        try flush()
        return try sink.receiveBody(more)
      }
      bytes.append(contentsOf: more)
      if bytes.count > Self.usual { try flush() }
    }

    /// Adds a line with a text as it is, anything else as compact JSON.
    func add(_ value: JSONText) throws(Failure) {
      try BodySink.write(value) { (bytes) throws(Failure) in try add(bytes) }
      end()
    }

    func end() { bytes.append(UInt8(ascii: "\n")) }

    func flush() throws(Failure) {
      try PageWriter.put(bytes, into: sink)
      bytes.removeAll(keepingCapacity: true)
    }
  }

  fileprivate static func put(_ bytes: [UInt8], into sink: BodySink) throws(Failure) {
    try bytes.withUnsafeBufferPointer { (buffer) throws(Failure) in
      try sink.receiveBody(UnsafeRawBufferPointer(buffer))
    }
  }
}
