/// Runs exchanges in parallel over one pool of connections.
final class ParallelExchanges {
  private final class Flight {
    var exchange: Exchange
    /// Whether the incoming answer is the final one, not a redirect to follow.
    var isFinal = false
    let onHead: HTTPClient.OnHead
    let onBody: HTTPClient.OnBody
    let onEnd: (Failure?) -> Void

    init(
      _ exchange: Exchange,
      _ onHead: @escaping HTTPClient.OnHead,
      _ onBody: @escaping HTTPClient.OnBody,
      _ onEnd: @escaping (Failure?) -> Void
    ) {
      self.exchange = exchange
      self.onHead = onHead
      self.onBody = onBody
      self.onEnd = onEnd
    }
  }

  private let client: HTTPClient
  private let multi: CurlMulti
  private var flights: [ObjectIdentifier: Flight] = [:]
  /// Handles that wait for their next transfer.
  private var idle: [CurlClient] = []

  /// - Parameter count: the largest number of exchanges at a time.
  init(_ client: HTTPClient, count: Int) throws(Failure) {
    self.client = client
    multi = try CurlMulti(connections: count)
  }

  /// Starts an exchange: `onHead` and `onBody` receive the final answer as it arrives; `onEnd` is
  /// called at its end, with the failure if there was one.
  func start(
    _ exchange: Exchange,
    onHead: @escaping HTTPClient.OnHead,
    onBody: @escaping HTTPClient.OnBody,
    onEnd: @escaping (Failure?) -> Void
  ) {
    let flight = Flight(exchange, onHead, onBody, onEnd)
    do throws(Failure) { try begin(flight) } catch { onEnd(error) }
  }

  /// Sends and receives as much as possible without waiting.
  func advance() throws(Failure) {
    for (handle, failure) in try multi.advance() {
      guard let flight = flights.removeValue(forKey: ObjectIdentifier(handle)) else { continue }
      idle.append(handle)
      do throws(Failure) {
        if let failure { throw failure }
        if try flight.exchange.follow() { try begin(flight) } else { flight.onEnd(nil) }
      } catch {
        flight.onEnd(error)
      }
    }
  }

  /// Waits as `CurlMulti.wait` does.
  func wait(milliseconds: Int, for descriptors: [Int32]) throws(Failure) -> [Int32] {
    try multi.wait(milliseconds: milliseconds, for: descriptors)
  }

  private func begin(_ flight: Flight) throws(Failure) {
    var (request, settings) = try flight.exchange.next()
    settings.sharesConnection = request.url.origin.isSecure
    settings.pieceLength = 16 * 1024
    let handle = if let used = idle.popLast() { used } else { try CurlClient() }
    flight.isFinal = false
    try handle.begin(request, settings: settings) { (head) throws(Failure) in
      guard let hops = try flight.exchange.receiveHead(head) else { return }
      flight.isFinal = true
      try flight.onHead(head, hops)
    } onBody: { (bytes) throws(Failure) in
      if flight.isFinal { try flight.onBody(bytes) }
    }
    try multi.add(handle)
    flights[ObjectIdentifier(handle)] = flight
  }
}
