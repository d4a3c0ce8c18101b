// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

// Include folders of libsecret/secret.h and the GLib headers it needs: the relevant part of
// `pkg-config --cflags libsecret-1`. A system library target with `pkgConfig` would also link
// libsecret, which the program opens only on demand. pkg-config is not run from here either:
// SwiftPM caches the manifest, so one evaluated before the headers were installed would keep
// failing. Folders that do not exist are ignored. Only glibconfig.h depends on the machine: Debian
// has a folder for each architecture, Fedora lib64, others lib. For any other layout, pass swift
// build -Xcc -I... for each folder.
#if arch(arm64)
  let multiarch = "aarch64-linux-gnu"
#else
  let multiarch = "x86_64-linux-gnu"
#endif
let secretHeaders = [
  "-I/usr/include/libsecret-1", "-I/usr/include/gio-unix-2.0", "-I/usr/include/glib-2.0",
  "-I/usr/lib/\(multiarch)/glib-2.0/include", "-I/usr/lib64/glib-2.0/include",
  "-I/usr/lib/glib-2.0/include",
]
// SwiftPM does not pass the settings of a C target on to the Swift that imports it.
let importsSecretHeaders: SwiftSetting = .unsafeFlags(secretHeaders.flatMap { ["-Xcc", $0] })

let package = Package(
  name: "authctl",
  products: [
    .executable(name: "authctl", targets: ["authctl"]),
    .executable(name: "DemoAPI", targets: ["DemoAPI"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
  ],
  targets: [
    .plugin(name: "EmbedPresets", capability: .buildTool()),
    .target(name: "CCrypto"),
    .target(name: "CCurl", dependencies: ["CSystem"]),
    .target(name: "CJQ"),
    .target(name: "CQRencode"),
    .target(name: "CSystem"),
    .target(
      name: "CLibsecret", dependencies: ["CSystem"], cSettings: [.unsafeFlags(secretHeaders)]),
    .target(
      name: "AuthKit",
      dependencies: ["CCrypto", "CCurl", "CJQ", "CLibsecret", "CQRencode", "CSystem"],
      exclude: ["Profiles/Presets"],
      swiftSettings: strict + [importsSecretHeaders],
      plugins: ["EmbedPresets"]
    ),
    .executableTarget(
      name: "authctl",
      dependencies: [
        "AuthKit", "CSystem", .product(name: "ArgumentParser", package: "swift-argument-parser"),
      ],
      swiftSettings: strict
    ),
    .executableTarget(
      name: "DemoAPI",
      dependencies: [
        "CCrypto",
        .product(name: "FlyingFox", package: "FlyingFox"),
        .product(name: "FlyingSocks", package: "FlyingFox"),
      ],
      path: "Tests/DemoAPI"
    ),
    .testTarget(
      name: "AuthKitTests", dependencies: ["AuthKit", "CSystem"],
      swiftSettings: strict + [importsSecretHeaders]),
    .testTarget(
      name: "EndToEndTests",
      dependencies: ["authctl", "DemoAPI"],
      exclude: ["Conversations"],
      swiftSettings: strict
    ),
    // What the fuzzers do with an input, here with the files of their corpora.
    .testTarget(
      name: "FuzzTests", dependencies: ["AuthKit", "authctl"], path: "Tests/Fuzz",
      exclude: ["Fuzz.swift", "corpus", "run.sh", "words"],
      swiftSettings: strict + [importsSecretHeaders]),
  ]
)

// `make build` links Sources/AbsentFoundation and Sources/AbsentConcurrency in place of libraries which
// the parser refers to. Tests need them.
if Context.environment["AUTHCTL_WITHOUT_FOUNDATION"] != nil {
  let name: SwiftSetting = .unsafeFlags(["-module-abi-name", "FoundationEssentials"])
  package.targets += [
    .target(name: "AbsentConcurrency"),
    .target(name: "AbsentFoundation", swiftSettings: strict + [name]),
  ]
  package.targets.first { $0.name == "authctl" }?.dependencies += [
    "AbsentFoundation", "AbsentConcurrency",
  ]
}

// `make fuzz` builds the same files as a program of libFuzzer, which has the main function: then
// authctl is a library.
if Context.environment["AUTHCTL_FUZZ"] != nil,
  let authctl = package.targets.first(where: { $0.name == "authctl" })
{
  package.targets.removeAll { $0.type == .executable || $0.type == .test }
  package.targets += [
    .target(
      name: "authctl", dependencies: authctl.dependencies, exclude: ["Main.swift"],
      swiftSettings: strict),
    .executableTarget(
      name: "fuzz", dependencies: ["AuthKit", "authctl"], path: "Tests/Fuzz",
      exclude: ["CorpusTests.swift", "corpus", "run.sh", "words"],
      swiftSettings: strict + [importsSecretHeaders]),
  ]
  package.products = [.executable(name: "fuzz", targets: ["fuzz"])]
}
