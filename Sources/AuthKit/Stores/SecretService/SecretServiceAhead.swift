/// A connection to the Secret Service that is made on a thread of its own, while the command's
/// options are read or because it may hang.
///
/// Keyring and libsecret negotiate keys for 6 of the 10 ms of a lookup. Starting early makes `get`
/// 5 ms faster.
package final class SecretServiceAhead {
  private let timeout: Double
  private var work: BackgroundThread?
  private var outcome: Result<SecretServiceBus, Failure>?

  /// Starts `connect`.
  init(timeout: Double, _ connect: @escaping () throws(Failure) -> SecretServiceBus) {
    self.timeout = timeout
    work = BackgroundThread { [self] in
      do throws(Failure) { outcome = .success(try connect()) } catch { outcome = .failure(error) }
    }
  }

  /// Starts to connect to the Secret Service at `busAddress` and to negotiate keys; does not start
  /// a service that is not running.
  ///
  /// - Parameters:
  ///   - timeout: seconds.
  ///   - next: called on the same thread afterwards, whatever the result.
  package convenience init(
    busAddress: String?, timeout: Double, then next: @escaping () -> Void
  ) {
    self.init(timeout: timeout) { () throws(Failure) in
      defer { next() }
      let bus = try SecretServiceBus(busAddress: busAddress, timeout: timeout)
      try bus.bind(mayStart: false)
      try bus.negotiateAhead()
      return bus
    }
  }

  /// Returns the connection.
  ///
  /// - Throws: what `connect` throws; `storeTimeout` when the time limit passes. The thread is
  ///   abandoned then: GDBus has no limit for a bus that does not answer.
  func bus() throws(Failure) -> SecretServiceBus {
    let hasEnded = work?.wait(seconds: timeout) ?? true
    guard hasEnded, let outcome else {
      throw .keyringTimeout("the D-Bus session", seconds: timeout)
    }
    return try outcome.get()
  }
}
