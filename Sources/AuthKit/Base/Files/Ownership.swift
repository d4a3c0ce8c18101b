internal import Glibc

/// The owner of a file or folder, and what others may do with it.
package struct Ownership {
  /// The numeric ID of the owner.
  package let owner: UInt32
  private let group: UInt32
  private let mode: UInt32

  /// The ownership in the numbers that stat(2) returns.
  package init(owner: UInt32, group: UInt32, mode: UInt32) {
    self.owner = owner
    self.group = group
    self.mode = mode
  }

  init(_ status: stat) {
    self.init(owner: status.st_uid, group: status.st_gid, mode: status.st_mode)
  }

  /// Whether it belongs to this user.
  package var isOwn: Bool { owner == geteuid() }

  /// Whether it belongs to this user or to root, who can do everything anyway.
  package var isOwnOrRoots: Bool { isOwn || owner == 0 }

  /// Whether any other user may read or write it, even only through the owner's own group.
  package var isOpenToOthers: Bool { mode & 0o077 != 0 }

  /// Whether its group or everybody may write it; never for a file with a secret (rule B10).
  package var isWritableByGroupOrOthers: Bool { mode & 0o022 != 0 }

  /// Whether a user who is neither the owner nor root may write it.
  ///
  /// A group that has the owner's name and no other member counts as the owner: systems that give
  /// each user such a group set the umask to 002. Debian's OpenSSH checks in the same way
  /// (user-group-modes.patch).
  package var isWritableByOtherUsers: Bool {
    if mode & 0o002 != 0 { return true }
    return mode & 0o020 != 0 && !Self.isOwnGroup(group, of: owner)
  }

  /// Whether `group` has the name of the user `owner` and no other member.
  private static func isOwnGroup(_ group: gid_t, of owner: uid_t) -> Bool {
    guard let name = userName(of: owner), let entry = getgrgid(group),
      String(cString: entry.pointee.gr_name).utf8.elementsEqual(name.utf8)
    else { return false }
    var member = entry.pointee.gr_mem
    while let text = member?.pointee {
      guard String(cString: text).utf8.elementsEqual(name.utf8) else { return false }
      member = member?.advanced(by: 1)
    }
    // The member list omits users whose primary group it is.
    setpwent()
    defer { endpwent() }
    while let user = getpwent() {
      if user.pointee.pw_gid == group, user.pointee.pw_uid != owner { return false }
    }
    return true
  }

  private static func userName(of user: uid_t) -> String? {
    getpwuid(user).map { String(cString: $0.pointee.pw_name) }
  }
}
