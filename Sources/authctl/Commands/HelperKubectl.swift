internal import ArgumentParser
internal import AuthKit

/// `authctl helper kubectl`
///
/// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
struct HelperKubectl: Command {
  static let configuration = CommandConfiguration(
    commandName: "kubectl", abstract: "For kubectl: users[].user.exec, with -p.",
    usage: "authctl helper kubectl [<options>]",
    discussion: """
      In the kubeconfig, for the user:
        exec:
          apiVersion: client.authentication.k8s.io/v1
          command: authctl
          args: [helper, kubectl, -p, cluster]
          interactiveMode: Never
          provideClusterInfo: true

      Examples:
        authctl helper kubectl -p cluster
        kubectl --kubeconfig team.yaml get pods
      """
  ).alone

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard globals.profile != nil else {
      throw Failure(.usage, "kubectl does not name the cluster", hint: "-p NAME says which")
    }
    let info = try? JSONValue.parse(app.environment["KUBERNETES_EXEC_INFO"] ?? "")
    var origin: Origin?
    if let server = info?["spec"]?["cluster"]?["server"]?.text {
      guard let found = HelperCredential.origin(ofHost: server) else {
        throw Failure(.originRefused, "KUBERNETES_EXEC_INFO names a server that is not a URL")
      }
      origin = found
    }
    let found = try HelperCredential(app: app, givesPasswords: false).credentialOfNamed(for: origin)
    let known = [
      "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1",
    ]
    let version = info?["apiVersion"]?.text.flatMap { known.contains($0) ? $0 : nil } ?? known[0]
    try app.console.out(
      JSONValue.object([
        ("apiVersion", .string(version)), ("kind", "ExecCredential"),
        (
          "status",
          .object(
            [
              ("token", .string(found.secret)),
              ("expirationTimestamp", Messages.time(found.session.expiresAt)),
            ].filter { $0.value != nil })
        ),
      ]))
    return 0
  }
}
