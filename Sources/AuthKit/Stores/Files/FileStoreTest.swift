internal import Glibc

extension FileStore {
  /// Checks the folder and its mode, the source of the key and that every file can be read, and
  /// writes a probe.
  package func test() -> [Check] {
    var checks: [Check] = []
    do throws(Failure) {
      let folder = try SessionFolder.made(self.folder)
      checks.append(check(folder))
      checks.append(checkKey(folder))
      checks.append(checkFiles(folder))
      guard !checks.contains(where: { $0.subject == .key && $0.result == .fail }) else {
        return checks + [Check(.probe, .skipped, "not written: there is no key")]
      }
      checks.append(probe(folder))
    } catch {
      checks.append(Check(.folder, error))
    }
    return checks
  }

  private func check(_ opened: borrowing SessionFolder) -> Check {
    let mode = opened.mode
    let detail = "\(shownFolder), mode \(octal(mode))"
    guard mode & 0o077 != 0 else {
      return Check(.folder, .ok, detail, brief: shownFolder)
    }
    return Check(
      .folder, .warn, detail + ": other users can see how many sessions there are",
      brief: shownFolder,
      hint: DisplayText.shellCommand(["chmod", "700", folder]))
  }

  private func checkKey(_ folder: borrowing SessionFolder) -> Check {
    guard let key else { return Check(.key, .warn, caution ?? "none") }
    do throws(Failure) {
      let place = try key.place()
      _ = try key.keyForWriting { () throws(Failure) in try self.derivations(in: folder) }
      return key.caution.map { Check(.key, .warn, $0) }
        ?? Check(.key, .ok, place, brief: "key from \(place)")
    } catch {
      return Check(.key, error)
    }
  }

  /// Reports the files that a list omits, such as a moved one, with the reason.
  private func checkFiles(_ folder: borrowing SessionFolder) -> Check {
    var (count, failures) = (0, [Failure]())
    do throws(Failure) {
      for name in try folder.names(suffix) {
        do throws(Failure) {
          guard let content = try folder.read(name) else { continue }
          count += 1
          try content.withBytes { (bytes) throws(Failure) in
            try check(bytes, called: name, in: folder)
          }
        } catch {
          failures.append(error)
        }
      }
    } catch {
      return Check(.sessions, error)
    }
    guard let first = failures.first else {
      let words = count == 0 ? "no files" : "\(count) file\(count == 1 ? "" : "s"), mode 0600"
      return Check(.sessions, .ok, words, brief: "\(count) session\(count == 1 ? "" : "s")")
    }
    let more = failures.count > 1 ? "; and \(failures.count - 1) more" : ""
    return Check(.sessions, .fail, first.message + more, hint: first.hint)
  }

  private func check(
    _ bytes: UnsafeRawBufferPointer, called name: String, in folder: borrowing SessionFolder
  ) throws(Failure) {
    let label = folder.place(name)
    let session = try header(of: bytes, label: label).session
    guard try isNamed(name, after: session) else {
      throw Failure(.storeMissing, "\(label) belongs to another profile or account: it was moved")
    }
  }

  /// Writes a probe under the writers' lock, as another writer would delete it; its name is never
  /// that of a session.
  private func probe(_ folder: borrowing SessionFolder) -> Check {
    let session = SessionKey(profile: "probe", account: randomHex(bytes: 16), origin: "")
    let name = ".probe-" + session.account + SessionFolder.partSuffix
    do throws(Failure) {
      let value = Secret(randomHex(bytes: 32))
      try folder.locked(timeout: timeout) { () throws(Failure) in
        defer { _ = try? folder.remove(name) }
        try self.write(value, of: session, as: name, in: folder)
        guard let content = try folder.read(name) else {
          throw Failure(.storeMissing, "the test entry was written but is missing")
        }
        let isSame = try content.withBytes { (bytes) throws(Failure) in
          try self.payload(bytes, of: session.profile, session.account).withBytes { read in
            value.withBytes { read.elementsEqual($0) }
          }
        }
        guard isSame else { throw Failure(.storeMissing, "the test entry was changed") }
      }
      return Check(.probe, .ok, "written, read and deleted", brief: "a test entry works")
    } catch {
      return Check(.probe, error)
    }
  }
}
