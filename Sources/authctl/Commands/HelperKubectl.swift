internal import ArgumentParser
internal import AuthKit

/// `authctl helper kubectl`
///
/// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
struct HelperKubectl: Command {
  static let configuration = CommandConfiguration(
    commandName: "kubectl", abstract: "Answer kubectl (users[].user.exec); requires -p.",
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
    let info = try Self.info(app.environment["KUBERNETES_EXEC_INFO"] ?? "")
    let origin = try info.map { (info) throws(Failure) in try Self.server(of: info) } ?? nil
    let found = try HelperCredential.ofNamedProfile(by: "kubectl", for: origin, in: app)
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

  /// Returns kubectl's ExecCredential, which describes the cluster; nil for an empty text.
  static func info(_ text: String) throws(Failure) -> JSONValue? {
    if text.isEmpty { return nil }
    guard let info = try? JSONValue.parse(text), case .object = info else {
      throw unreadable("is not a JSON object")
    }
    return info
  }

  /// Returns the origin of `spec.cluster.server`; nil without `provideClusterInfo`.
  ///
  /// - Throws: `origin_refused` when a cluster's server is missing or ambiguous.
  static func server(of info: JSONValue) throws(Failure) -> Origin? {
    func member(_ pointer: String) throws(Failure) -> JSONValue? {
      do throws(JSONPointerError) { return try info.at(pointer) } catch {
        throw unreadable("has a duplicate key")
      }
    }
    guard let spec = try member("/spec") else { return nil }
    guard case .object = spec else { throw unreadable("has a spec that is not an object") }
    guard let cluster = try member("/spec/cluster") else { return nil }
    guard case .object = cluster, let server = try member("/spec/cluster/server")?.text else {
      throw unreadable("has a cluster without a server")
    }
    guard let origin = Origin(canonicalStartOf: server) else {
      throw unreadable("has a server that is not a canonical URL")
    }
    return origin
  }

  private static func unreadable(_ what: String) -> Failure {
    Failure(.originRefused, "KUBERNETES_EXEC_INFO \(what)")
  }
}
