internal import Glibc

/// Libraries that are loaded before they are needed, on a thread of their own. Who needs one waits
/// until it is there.
public enum Background {
  /// Begins to load libsecret with GLib, libcurl with its thirty libraries, or one after the other.
  public static func load(keyring: Bool, http: Bool) {
    final class Wanted: Sendable {
      let keyring: Bool
      let http: Bool

      init(_ keyring: Bool, _ http: Bool) {
        self.keyring = keyring
        self.http = http
      }
    }
    guard keyring || http else { return }
    let wanted = Unmanaged.passRetained(Wanted(keyring, http))
    var thread = pthread_t()
    let work: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
      guard let context else { return nil }
      let wanted = Unmanaged<Wanted>.fromOpaque(context).takeRetainedValue()
      if wanted.keyring { SecretServiceBus.load() }
      if wanted.http { _ = try? openedLibcurl() }
      return nil
    }
    guard pthread_create(&thread, nil, work, wanted.toOpaque()) == 0 else {
      wanted.release()
      return
    }
    pthread_detach(thread)
  }
}
