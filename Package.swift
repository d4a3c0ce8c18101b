// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .treatAllWarnings(as: .error),
]

let package = Package(
  name: "authctl",
  products: [
    .executable(name: "authctl", targets: ["authctl"]),
    .executable(name: "DemoAPI", targets: ["DemoAPI"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/LebJe/TOMLKit", from: "0.6.0"),
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
  ],
  targets: [
    .plugin(name: "EmbedPresets", capability: .buildTool()),
    .target(name: "CCrypto"),
    .target(name: "CCurl"),
    .target(name: "CLibsecret"),
    .target(
      name: "AuthKit",
      dependencies: ["CCrypto", "CCurl", "CLibsecret", "TOMLKit"],
      exclude: ["Profiles/Presets"],
      swiftSettings: strict,
      plugins: ["EmbedPresets"]
    ),
    .executableTarget(
      name: "authctl",
      dependencies: [
        "AuthKit", .product(name: "ArgumentParser", package: "swift-argument-parser"),
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
    .testTarget(name: "AuthKitTests", dependencies: ["AuthKit"], swiftSettings: strict),
    .testTarget(
      name: "EndToEndTests",
      dependencies: ["authctl", "DemoAPI"],
      exclude: ["Conversations"],
      swiftSettings: strict
    ),
  ]
)
