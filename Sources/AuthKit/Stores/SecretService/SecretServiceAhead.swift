/// A connection to the Secret Service that is made on a thread of its own: while the options of a
/// command are read, or because it may hang.
///
/// Keyring and libsecret negotiate keys for 6 ms, all of a lookup takes 10. `get` is 5 ms shorter for
/// beginning with that.
package final class SecretServiceAhead {
  private let timeout: Double
  private var work: BackgroundThread?
  private var outcome: Result<SecretServiceBus, Failure>?

  /// Begins with what makes the connection.
  init(timeout: Double, _ connect: @escaping () throws(Failure) -> SecretServiceBus) {
    self.timeout = timeout
    work = BackgroundThread { [self] in
      do throws(Failure) { outcome = .success(try connect()) } catch { outcome = .failure(error) }
    }
  }

  /// Begins to connect to the Secret Service at `busAddress` and to agree on keys; a service that is
  /// not running is not started.
  ///
  /// - Parameters:
  ///   - timeout: seconds.
  ///   - next: called on the same thread afterwards, whatever came of it.
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

  /// The connection.
  ///
  /// - Throws: what making it threw; `storeTimeout` when it is not there within the time limit. It is
  ///   left to itself then: GDBus has no limit for a bus that says nothing.
  func bus() throws(Failure) -> SecretServiceBus {
    let hasEnded = work?.wait(by: { SecretServiceBus.join($0, within: timeout) }) ?? true
    guard hasEnded, let outcome else {
      throw .keyringTimeout("the D-Bus session", seconds: timeout)
    }
    return try outcome.get()
  }
}
