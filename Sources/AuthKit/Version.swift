/// The version of authctl, by https://semver.org.
public let version = "0.1.0"
