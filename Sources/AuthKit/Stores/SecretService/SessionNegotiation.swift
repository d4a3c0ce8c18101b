internal import CLibsecret

/// The negotiation of the encrypted session with a Secret Service, whose answer is read by the thread
/// that needs the session, not by one of its own.
/// https://gnome.pages.gitlab.gnome.org/libsecret/method.Service.ensure_session.html
final class SessionNegotiation {
  private let c: authctl_libsecret
  /// What GDBus passes the answer to; only `finish` looks for one.
  private let context: OpaquePointer?
  private var isDone = false

  /// Makes keys and sends ours. The time limit is the default of `service`.
  init(_ c: authctl_libsecret, _ service: UnsafeMutablePointer<SecretService>) {
    self.c = c
    context = c.g_main_context_new()
    c.g_main_context_push_thread_default(context)
    c.secret_service_ensure_session(
      service, nil,
      { _, _, data in
        guard let data else { return }
        Unmanaged<SessionNegotiation>.fromOpaque(data).takeUnretainedValue().isDone = true
      }, Unmanaged.passUnretained(self).toOpaque())
    c.g_main_context_pop_thread_default(context)
  }

  /// Waits for the answer, and computes what follows from it. The session tells whether it failed.
  func finish() {
    // An answer may lead to another call, which belongs to the same context.
    c.g_main_context_push_thread_default(context)
    while !isDone { _ = c.g_main_context_iteration(context, 1) }
    c.g_main_context_pop_thread_default(context)
    c.g_main_context_unref(context)
  }
}
