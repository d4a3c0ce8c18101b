internal import CLibsecret

/// Where GDBus puts the answers to the calls of one connection, until the thread that needs one of them
/// takes them out. One thread at a time may use it.
/// https://docs.gtk.org/glib/main-loop.html
final class BusAnswers {
  private let c: authctl_libsecret
  private let context: OpaquePointer?

  init(_ c: authctl_libsecret) {
    self.c = c
    context = c.g_main_context_new()
  }

  deinit { c.g_main_context_unref(context) }

  /// Runs `body`, whose calls are answered here.
  func collect<R>(_ body: () -> R) -> R {
    c.g_main_context_push_thread_default(context)
    defer { c.g_main_context_pop_thread_default(context) }
    return body()
  }

  /// Takes answers out, and waits for more, while `isMissing`. An answer may lead to another call.
  func take(while isMissing: () -> Bool) {
    collect { while isMissing() { _ = c.g_main_context_iteration(context, 1) } }
  }
}

/// A call that has been sent. Others may be sent before its answer is needed: a round trip takes a
/// fifth of a millisecond, for three calls as for one.
/// https://docs.gtk.org/gio/method.DBusConnection.call.html
final class BusCall {
  private let c: authctl_libsecret
  private let connection: OpaquePointer
  private let answers: BusAnswers
  private var reply: OpaquePointer?
  private var error: UnsafeMutablePointer<GError>?
  private var isAnswered = false

  /// Sends it, with `parameters`, a floating tuple; `type` is that of the reply.
  init(
    _ c: authctl_libsecret, _ connection: OpaquePointer, _ answers: BusAnswers,
    _ method: (bus: String, path: String, interface: String, name: String),
    _ parameters: OpaquePointer?, reply type: String, milliseconds: Int32
  ) {
    self.c = c
    self.connection = connection
    self.answers = answers
    let data = Unmanaged.passRetained(self).toOpaque()
    answers.collect {
      c.withType(type) {
        c.g_dbus_connection_call(
          connection, method.bus, method.path, method.interface, method.name, parameters, $0,
          G_DBUS_CALL_FLAGS_NO_AUTO_START, milliseconds, nil,
          { _, result, data in
            guard let data else { return }
            Unmanaged<BusCall>.fromOpaque(data).takeRetainedValue().take(result)
          }, data)
      }
    }
  }

  deinit {
    if let reply { c.g_variant_unref(reply) }
    if let error { c.g_error_free(error) }
  }

  private func take(_ result: OpaquePointer?) {
    reply = c.g_dbus_connection_call_finish(connection, result, &error)
    isAnswered = true
  }

  /// Waits for the answer, whatever it is.
  func end() { answers.take { !isAnswered } }

  /// Waits for the answer: the reply, or why there is none. The caller owns either.
  func answer() -> (reply: OpaquePointer?, error: UnsafeMutablePointer<GError>?) {
    end()
    defer { (reply, error) = (nil, nil) }
    return (reply, error)
  }
}
