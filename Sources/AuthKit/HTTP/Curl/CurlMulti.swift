internal import CCurl

/// Runs many transfers in parallel over one pool of connections, multiplexed over one connection
/// where possible (HTTP/2). https://curl.se/libcurl/c/libcurl-multi.html
final class CurlMulti {
  private let multi: UnsafeMutableRawPointer
  private let curl: authctl_curl
  private var running: [UnsafeMutableRawPointer: CurlClient] = [:]

  /// - Parameter connections: the number to keep open for the next transfers.
  init(connections: Int) throws(Failure) {
    curl = try openedLibcurl()
    guard let multi = curl.curl_multi_init() else {
      throw Failure(.failed, "libcurl cannot be initialized")
    }
    self.multi = multi
    authctl_curl_set_multi_long(multi, CURLMOPT_MAXCONNECTS, connections)
    authctl_curl_set_multi_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
  }

  deinit {
    for easy in running.keys { _ = curl.curl_multi_remove_handle(multi, easy) }
    _ = curl.curl_multi_cleanup(multi)
  }

  /// Starts the transfer that `client` has prepared with `begin`.
  func add(_ client: CurlClient) throws(Failure) {
    try check(curl.curl_multi_add_handle(multi, client.easy))
    running[client.easy] = client
  }

  /// Removes a transfer before its end.
  func remove(_ client: CurlClient) {
    _ = curl.curl_multi_remove_handle(multi, client.easy)
    running[client.easy] = nil
  }

  /// Sends and receives as much as possible without waiting.
  ///
  /// - Returns: the clients whose transfer has ended, each with what `CurlClient.send` would throw.
  func advance() throws(Failure) -> [(client: CurlClient, failure: Failure?)] {
    var count: Int32 = 0
    try check(curl.curl_multi_perform(multi, &count))
    var ended: [(client: CurlClient, failure: Failure?)] = []
    while let message = curl.curl_multi_info_read(multi, &count) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let client = running[easy]
      else { continue }
      let result = message.pointee.data.result
      remove(client)
      if client.triesBundle(after: result) {
        try add(client)
        continue
      }
      do throws(Failure) {
        try client.end(result)
        ended.append((client, nil))
      } catch {
        ended.append((client, error))
      }
    }
    return ended
  }

  /// Waits until a transfer can continue, one of `descriptors` can be read, or the time is up.
  ///
  /// - Returns: those of `descriptors` that can be read, or have ended.
  func wait(milliseconds: Int, for descriptors: [Int32]) throws(Failure) -> [Int32] {
    var waiting = descriptors.map {
      curl_waitfd(fd: $0, events: Int16(CURL_WAIT_POLLIN), revents: 0)
    }
    let limit = Int32(clamping: milliseconds)
    try check(curl.curl_multi_poll(multi, &waiting, UInt32(waiting.count), limit, nil))
    return waiting.filter { $0.revents != 0 }.map(\.fd)
  }

  private func check(_ code: CURLMcode) throws(Failure) {
    guard code != CURLM_OK else { return }
    let words = curl.curl_multi_strerror(code).map { String(cString: $0) } ?? "\(code.rawValue)"
    throw Failure(.failed, "libcurl failed: \(words)")
  }
}
