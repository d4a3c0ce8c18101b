/// The version of authctl, by https://semver.org.
package let version = "0.1.0"

/// The commit that the program was built from, if the build knew it.
package var commit: String? { EmbeddedCommit.text }

/// The version, and the commit if the build knew it: `authctl 0.1.0 (a1b2c3d)`.
package var release: String {
  "authctl \(version)" + (commit.map { " (\($0))" } ?? "")
}
