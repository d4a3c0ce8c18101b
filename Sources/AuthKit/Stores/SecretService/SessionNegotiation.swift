internal import CLibsecret

/// The negotiation of the encrypted session with a Secret Service, whose answer is read by the thread
/// that needs the session, not by one of its own.
/// https://gnome.pages.gitlab.gnome.org/libsecret/method.Service.ensure_session.html
final class SessionNegotiation {
  private let answers: BusAnswers
  private var isDone = false

  /// Makes keys and sends ours. The time limit is the default of `service`.
  init(
    _ c: authctl_libsecret, _ service: UnsafeMutablePointer<SecretService>, _ answers: BusAnswers
  ) {
    self.answers = answers
    let data = Unmanaged.passRetained(self).toOpaque()
    answers.collect {
      c.secret_service_ensure_session(
        service, nil,
        { _, _, data in
          guard let data else { return }
          Unmanaged<SessionNegotiation>.fromOpaque(data).takeRetainedValue().isDone = true
        }, data)
    }
  }

  /// Waits for the answer, and computes what follows from it. The session tells whether it failed.
  func finish() { answers.take { !isDone } }
}
