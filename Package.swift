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
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
  ],
  targets: [
    .plugin(name: "EmbedPresets", capability: .buildTool()),
    .target(name: "CCrypt"),
    .target(name: "CCurl"),
    .target(name: "CLibsecret"),
    .target(
      name: "AuthKit",
      dependencies: [
        "CCrypt", "CCurl", "CLibsecret", .product(name: "Crypto", package: "swift-crypto"),
      ],
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
        .product(name: "FlyingFox", package: "FlyingFox"),
        .product(name: "FlyingSocks", package: "FlyingFox"),
        .product(name: "Crypto", package: "swift-crypto"),
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
