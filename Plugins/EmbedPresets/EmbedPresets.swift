import Foundation
import PackagePlugin

/// Embeds every Profiles/Presets/*.toml in one Swift file, so that the binary needs no data files
/// and a new preset is only a TOML file. Embeds the commit in another.
@main
struct EmbedPresets: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    let presets = target.directoryURL.appending(path: "Profiles/Presets")
    let inputs = try FileManager.default
      .contentsOfDirectory(at: presets, includingPropertiesForKeys: nil)
      .filter { $0.pathExtension == "toml" }
      .sorted { $0.lastPathComponent < $1.lastPathComponent }
    let scripts = context.package.directoryURL.appending(path: "Plugins/EmbedPresets")
    let script = scripts.appending(path: "embed.sh")
    let output = context.pluginWorkDirectoryURL.appending(path: "EmbeddedPresets.swift")
    let commits = context.pluginWorkDirectoryURL.appending(path: "commit")
    return [
      .buildCommand(
        displayName: "Embedding \(inputs.count) presets",
        executable: URL(filePath: "/bin/sh"),
        arguments: [script.path, output.path] + inputs.map(\.path),
        inputFiles: inputs + [script],
        outputFiles: [output]),
      // Runs before each build: a new commit changes no file of the package.
      .prebuildCommand(
        displayName: "Naming the commit",
        executable: URL(filePath: "/bin/sh"),
        arguments: [
          scripts.appending(path: "commit.sh").path, context.package.directoryURL.path,
          commits.appending(path: "EmbeddedCommit.swift").path,
        ],
        outputFilesDirectory: commits),
    ]
  }
}
