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
