/// A connection to the Secret Service that is made on a thread of its own, while the command's
/// options are read or because it may hang.
///
/// Keyring and libsecret negotiate keys for 6 of the 10 ms of a lookup.
package final class SecretServiceAhead {
  private let timeout: Double
  private var work: BackgroundThread?
  private var outcome: Result<SecretServiceBus, Failure>?

  /// Starts to connect to the bus at `busAddress`, the value of DBUS_SESSION_BUS_ADDRESS. Its time
  /// limit is `timeout` seconds.
  ///
  /// - Parameter prepare: runs on the same thread afterwards.
  init(
    busAddress: String?, timeout: Double,
    then prepare: @escaping (SecretServiceBus) throws(Failure) -> Void
  ) {
    self.timeout = timeout
    work = .endless { [self] in
      outcome = Result { () throws(Failure) in
        let bus = try SecretServiceBus(busAddress: busAddress, timeout: timeout)
        try prepare(bus)
        return bus
      }
    }
    if work != nil { return }
    // GDBus would abort.
    outcome = Result { () throws(Failure) in
      throw .busUnreachable(try sessionBusAddress(busAddress), "no thread can be started")
    }
  }

  /// Starts to connect to the Secret Service and to negotiate keys; does not start a service that is
  /// not running.
  package convenience init(busAddress: String?, timeout: Double) {
    self.init(busAddress: busAddress, timeout: timeout) { (bus) throws(Failure) in
      try bus.bind(mayStart: false)
      try bus.negotiateAhead()
    }
  }

  /// Waits until the service has what it needs to compute its keys, but for 50 ms at most: the caller
  /// then reads its options meanwhile. Linux may let a new thread wait for the one that began it, even
  /// where a processor is free: there `token` and `get` take 6 % less time with this.
  package func waitUntilAsked() { _ = work?.wait(seconds: 0.05) }

  /// Returns the connection.
  ///
  /// - Throws: what the connection throws; `storeTimeout` when the time limit passes. The thread is
  ///   abandoned then: GDBus has no limit for a bus that does not answer.
  func bus() throws(Failure) -> SecretServiceBus {
    let hasEnded = work?.wait(seconds: timeout) ?? true
    guard hasEnded, let outcome else {
      throw .keyringTimeout("the D-Bus session", seconds: timeout)
    }
    return try outcome.get()
  }
}
