/// A connection to the Secret Service that is begun while the options of a command are read: keyring
/// and libsecret negotiate keys for 6 ms, all of a lookup takes 10. `get` is 2.5 ms shorter for it.
///
/// Nothing is started for it. Where the service does not run yet, and where something goes wrong, the
/// store connects by itself and tells what it meets.
public final class SecretServiceAhead {
  private var work: Ahead?
  private var outcome: Result<SecretServiceBus, Failure>?

  /// Begins to connect to the bus at `busAddress`, which is what DBUS_SESSION_BUS_ADDRESS says, with
  /// `timeout` seconds for it. `afterwards` is done when the keys are on their way.
  init(busAddress: String?, timeout: Double, afterwards: @escaping () -> Void) {
    work = Ahead { [self] in
      do throws(Failure) {
        let bus = try SecretServiceBus(
          address: try sessionBusAddress(busAddress), timeout: timeout)
        try bus.bind(mayStart: false)
        try bus.negotiateAhead()
        // Asked for by every search.
        _ = bus.serviceName
        outcome = .success(bus)
      } catch {
        outcome = .failure(error)
      }
      afterwards()
    }
  }

  /// The connection; nil where the store has to connect by itself.
  ///
  /// - Throws: `storeTimeout`: another try would take as long again.
  func bus() throws(Failure) -> SecretServiceBus? {
    work?.wait()
    switch outcome {
    case .success(let bus): return bus
    case .failure(let failure) where failure.kind == .storeTimeout: throw failure
    default: return nil
    }
  }
}
