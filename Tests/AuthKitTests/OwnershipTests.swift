import Glibc
import Testing

@testable import AuthKit

/// Who owns a file and who else can write it: rules A3 and B10.
@Suite struct OwnershipTests {
  private static func ownership(_ owner: uid_t, _ group: gid_t, _ mode: mode_t) -> Ownership {
    Ownership(owner: owner, group: group, mode: S_IFREG | mode)
  }

  /// On Debian, root and daemon have groups of their own names; nobody does not.
  @Test func groupOfTheOwnerIsTheOwner() {
    let own: [(uid_t, gid_t)] = [(0, 0), (1, 1)]
    for (owner, group) in own {
      #expect(!Self.ownership(owner, group, 0o664).isWritableByOtherUsers, "\(owner) \(group)")
      #expect(Self.ownership(owner, group, 0o664).isWritableByGroupOrOthers)
      #expect(Self.ownership(owner, group, 0o666).isWritableByOtherUsers)
    }
    let foreign: [(uid_t, gid_t)] = [
      (0, 1), (1, 0), (0, 65534), (65534, 65534), (0, 54_321), (54_321, 54_321), (54_321, 0),
    ]
    for (owner, group) in foreign {
      #expect(Self.ownership(owner, group, 0o664).isWritableByOtherUsers, "\(owner) \(group)")
      #expect(!Self.ownership(owner, group, 0o644).isWritableByOtherUsers)
    }
  }

  @Test func ownersAndReaders() {
    let user = geteuid()
    #expect(Self.ownership(user, 0, 0o600).isOwn && Self.ownership(user, 0, 0o600).isOwnOrRoots)
    #expect(Self.ownership(0, 0, 0o600).isOwnOrRoots)
    #expect(!Self.ownership(54_321, 0, 0o600).isOwnOrRoots)
    #expect(!Self.ownership(0, 0, 0o700).isOpenToOthers)
    for mode in [0o640, 0o604, 0o610, 0o601] as [mode_t] {
      #expect(Self.ownership(0, 0, mode).isOpenToOthers)
    }
  }
}
