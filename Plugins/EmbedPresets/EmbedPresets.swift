import Foundation
import PackagePlugin

/// Puts the text of every Profiles/Presets/*.toml into one Swift file, so that the binary needs no
/// file beside it and a new preset is one TOML file and nothing else.
@main
struct EmbedPresets: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let presets = target.directoryURL.appending(path: "Profiles/Presets")
    let inputs = try FileManager.default
      .contentsOfDirectory(at: presets, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "toml" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
    let script = context.package.directoryURL.appending(path: "Plugins/EmbedPresets/embed.sh")
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedPresets.swift")
    return [
      .buildCommand(
        displayName: "Embedding \(inputs.count) presets",
        executable: URL(filePath: "/bin/sh"),
        arguments: [script.path, output.path] + inputs.map(\.path),
        inputFiles: inputs + [script],
        outputFiles: [output])
    ]
  }
}
