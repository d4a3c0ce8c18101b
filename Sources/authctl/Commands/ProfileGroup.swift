internal import ArgumentParser
internal import AuthKit

/// `authctl profile`
struct ProfileGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "profile", abstract: "Manage profiles: the settings of your APIs.",
    subcommands: [
      ProfileAdd.self, ProfileList.self, ProfileShow.self, ProfileSet.self, ProfileEdit.self,
      ProfileRename.self, ProfileRemove.self, ProfileDefault.self, ProfilePresets.self,
      ProfileDetect.self, ProfileExport.self,
      ProfileImport.self, ProfileCheck.self,
    ])
}
