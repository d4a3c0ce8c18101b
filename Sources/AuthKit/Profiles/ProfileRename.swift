/// Changes of a whole profile: its name, and its text in an editor.
extension ProfileStore {
  // MARK: - Renaming

  /// Checks that the profile `old` can be called `new`.
  ///
  /// - Throws: `usage` when there is no such profile, or when the new name is taken or invalid.
  package func checkRename(_ old: String, to new: String) throws(Failure) {
    _ = try text(of: old)
    _ = try config()
    try Self.check(name: new)
    let (from, to) = (path(of: old), path(of: new))
    // An interrupted rename has left one file with both names.
    let isBegun = old != new && ConfigFolder.isSameFile(from, to)
    let isTaken = try names().contains(new)
    guard isBegun || !isTaken else {
      throw Failure(
        .usage, "the profile \(new) already exists",
        hint: DisplayText.shellCommand(["authctl", "profile", "show", new]))
    }
  }

  /// Gives the file of the profile `old` a second name. Until `finishRename` both profiles exist, so
  /// that an interrupted rename leaves no session without its profile and can be repeated.
  ///
  /// - Throws: as `checkRename`; `failed` for I/O errors.
  package func beginRename(_ old: String, to new: String) throws(Failure) {
    try checkRename(old, to: new)
    let path = path(of: new)
    try locked { () throws(Failure) in
      try ConfigFolder.link(self.path(of: old), as: path, label: shown(path))
    }
  }

  /// Makes `new` the default profile if `old` is, then removes the old name.
  ///
  /// - Throws: `failed` for I/O errors.
  package func finishRename(_ old: String, to new: String) throws(Failure) {
    let path = path(of: old)
    try locked { () throws(Failure) in
      if try config().defaultProfile == old { try writeDefault(new) }
      _ = try ConfigFolder.remove(path, label: shown(path))
    }
  }

  // MARK: - Editing

  /// Writes the text of a profile to a new file for an editor, and returns its path. The name ends
  /// in `.toml`, and no profile has it.
  ///
  /// - Throws: `usage` when there is no such profile, `failed` for I/O errors.
  package func editableCopy(of name: String) throws(Failure) -> String {
    let path = "\(folder)/.\(name)-\(randomHex(bytes: 4)).toml"
    let text = try text(of: name)
    try locked { () throws(Failure) in
      try ConfigFolder.write(text, to: path, label: shown(path), replacing: false)
    }
    return path
  }

  /// Returns the text that an editor left at `path`.
  ///
  /// - Throws: `usage` when it is no text of at most 1 MiB, `failed` for I/O errors.
  package func editedText(at path: String) throws(Failure) -> String {
    guard let text = try ConfigFolder.read(path, label: shown(path)) else {
      throw Failure(.failed, "the editor removed \(shown(path))")
    }
    return text
  }

  /// Removes the file at `path`, if there is one.
  package func removeCopy(at path: String) { _ = try? ConfigFolder.remove(path, label: path) }

  /// Returns the mistakes in `text` as the profile `name`; empty if it is valid.
  package func mistakes(in text: String, of name: String) -> [Failure] {
    ProfileReader.mistakes(
      text: text, name: name, file: path(of: name), label: shown(path(of: name)))
  }

  /// Replaces the text of a profile, unless it is no longer `old`.
  ///
  /// - Throws: `failed` when another process has changed it; as `write`.
  package func replace(_ old: String, by new: String, in name: String) throws(Failure) {
    _ = try read(new, as: name)
    let label = shown(path(of: name))
    try locked { () throws(Failure) in
      guard try text(of: name).utf8.elementsEqual(old.utf8) else {
        throw Failure(.failed, "another program has changed \(label) meanwhile")
      }
      try ConfigFolder.write(new, to: path(of: name), label: label, replacing: true)
    }
  }
}
