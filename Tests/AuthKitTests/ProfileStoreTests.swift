import Glibc
import Testing

@testable import AuthKit

/// A configuration folder for one test, removed when the test is over.
private final class Folder {
  let path: String
  var store: ProfileStore { ProfileStore(configDirectory: path + "/authctl", home: path) }

  init() throws {
    path = "/tmp/authctl-test-\(UInt64.random(in: 0 ... .max))"
    try #require(mkdir(path, 0o700) == 0)
  }

  deinit { remove(path) }

  private func remove(_ path: String) {
    for name in (try? ConfigFolder.list(path)) ?? [] where name != "." && name != ".." {
      if unlink("\(path)/\(name)") != 0 { remove("\(path)/\(name)") }
    }
    rmdir(path)
  }

  func mode(_ name: String) -> mode_t {
    var status = stat()
    return stat("\(path)/\(name)", &status) == 0 ? status.st_mode & 0o777 : 0
  }
}

private let url = "url = \"https://api.shop.example\"\n"

private func failure(_ body: () throws -> Void) -> Failure? {
  do {
    try body()
    return nil
  } catch {
    return error as? Failure
  }
}

@Suite struct ProfileStoreTests {
  @Test func createLoadRemove() throws {
    let folder = try Folder()
    let store = folder.store
    #expect(try store.names() == [])
    try store.write(url, as: "shop")
    let bank = try store.draft(
      "bank",
      settings: [
        ("url", "https://bank.example"), ("login.path", "/in"),
        ("login.body", .object([("z", "{username}"), ("a", "{password}")])),
      ])
    try store.write(bank.text, as: "bank")
    #expect(try store.names() == ["bank", "shop"])
    #expect(try store.load("bank").recipe.login?.body != nil)
    #expect(folder.mode("authctl") == 0o700 && folder.mode("authctl/profiles") == 0o700)
    #expect(folder.mode("authctl/profiles/shop.toml") == 0o600)
    #expect(try ConfigFolder.list(folder.path + "/authctl/profiles").count == 4, "no leftovers")
    for name in ["authctl/.authctl-killed", "authctl/profiles/.authctl-killed"] {
      close(open("\(folder.path)/\(name)", O_WRONLY | O_CREAT | O_CLOEXEC, 0o600))
    }
    let again = failure { try store.write(url, as: "shop") }
    #expect(try ConfigFolder.list(folder.path + "/authctl/profiles").count == 4, "they are gone")
    #expect(folder.mode("authctl/.authctl-killed") == 0)
    #expect(again?.kind == .usage && again?.message.contains("already exists") == true)
    #expect(again?.message.contains("~/authctl/profiles/shop.toml") == true)
    try store.setDefault("shop")
    #expect(try store.config().defaultProfile == "shop")
    try store.remove("shop")
    #expect(try store.names() == ["bank"])
    #expect(try store.config().defaultProfile == nil)
    let unknown = failure { _ = try store.load("bnak") }
    #expect(unknown?.message == "no profile called bnak; did you mean bank?")
    #expect(unknown?.hint == "authctl profile list" && unknown?.kind == .usage)
  }

  @Test func wrongTextsAreNotStored() throws {
    let folder = try Folder()
    #expect(failure { try folder.store.write("url = 1", as: "shop") }?.kind == .usage)
    try folder.store.write(url, as: "shop")
    let wrong = failure {
      try folder.store.change("shop", set: [("session.expired", .array([.number(200)]))])
    }
    #expect(wrong?.kind == .usage)
    #expect(try folder.store.text(of: "shop") == url)
    #expect(failure { try folder.store.change("shop", set: [], unset: ["url"]) }?.kind == .usage)
  }

  @Test(
    arguments: [
      // text, key, value, result
      (
        "# top\nurl = \"https://h\" # why\n", "url", "https://i",
        "# top\nurl = \"https://i\" # why\n"
      ),
      (
        "url = \"https://h\"\n\n# about\n[login]\npath = \"/x\"\n", "account", "ada",
        "url = \"https://h\"\naccount = \"ada\"\n\n# about\n[login]\npath = \"/x\"\n"
      ),
      ("url = \"https://h\"", "account", "ada", "url = \"https://h\"\naccount = \"ada\"\n"),
      (
        "url = \"https://h\"\n[login] # in\npath = '/x' # here\n\n[request]\ncookies = true\n",
        "login.path", "/y",
        "url = \"https://h\"\n[login] # in\npath = \"/y\" # here\n\n[request]\ncookies = true\n"
      ),
      (
        "url = \"https://h\"\n[login]\npath = \"/x\" # p\n\n[request]\n", "login.method", "PUT",
        "url = \"https://h\"\n[login]\npath = \"/x\" # p\nmethod = \"PUT\"\n\n[request]\n"
      ),
      (
        "url = \"https://h\"\n", "login.path", "/y",
        "url = \"https://h\"\n\n[login]\npath = \"/y\"\n"
      ),
      (
        "url = \"https://h\"\nlogin.path = \"/x\"\n", "login.method", "PUT",
        "url = \"https://h\"\nlogin.path = \"/x\"\nlogin.method = \"PUT\"\n"
      ),
      (
        "url = \"https://h\"\nlogin = { path = \"/x\" } # c\n", "login.method", "PUT",
        "url = \"https://h\"\nlogin = { path = \"/x\", method = \"PUT\" } # c\n"
      ),
      (
        "url = \"https://h\"\n[session]\nmessage = [\n  \"/a\", # one\n  \"/b\",\n] # end\n",
        "session.message", "/c", "url = \"https://h\"\n[session]\nmessage = [\"/c\"] # end\n"
      ),
      (
        "url = \"https://h\"\r\naccount = \"a\" # c\r\n", "account", "b",
        "url = \"https://h\"\r\naccount = \"b\" # c\r\n"
      ),
      (
        "url = \"https://h\"\n[login]\npath = \"/x\"\n[login.body]\na = 1 # c\n[request]\n# r\n",
        "login.body", "{\"b\":2}",
        "url = \"https://h\"\n[login]\npath = \"/x\"\nbody = { b = 2 }\n[request]\n# r\n"
      ),
      (
        "url = \"https://h\"\naccount = \"\"\"\na = [login]\"\"\" # c\n", "account", "q\"\\\n",
        nil
      ),
    ] as [(String, String, String, String?)])
  func setKeepsComments(text: String, key: String, value: String, result: String?) throws {
    let folder = try Folder()
    let store = folder.store
    let path = store.path(of: "shop")
    try ConfigFolder.write(text, to: path, label: path, replacing: false)
    let new = try ProfileStore.value(of: key, from: value)
    guard let result else {
      // A control character: the reader refuses it, and the file is unchanged.
      #expect(failure { try store.change("shop", set: [(key, new)]) }?.kind == .usage)
      return
    }
    try store.change("shop", set: [(key, new)])
    #expect(try store.text(of: "shop") == result)
  }

  @Test(arguments: [
    ("url = \"https://h\"\naccount = \"a\" # c\n# d\n", "account", "url = \"https://h\"\n# d\n"),
    (
      "url = \"https://h\"\n[login]\npath = \"/x\"\nquery = {\n a = \"b\" }\n[request]\n",
      "login.query", "url = \"https://h\"\n[login]\npath = \"/x\"\n[request]\n"
    ),
    (
      "url = \"https://h\"\nlogin = { path = \"/x\", method = \"GET\" }\n", "login.method",
      "url = \"https://h\"\nlogin = { path = \"/x\" }\n"
    ),
    (
      "url = \"https://h\"\nlogin = { method = \"GET\", path = \"/x\" }\n", "login.method",
      "url = \"https://h\"\nlogin = { path = \"/x\" }\n"
    ),
    (
      "url = \"https://h\"\n[session.keep] # k\na = \"/b\"\n# end\n", "session.keep",
      "url = \"https://h\"\n# end\n"
    ),
  ])
  func unset(text: String, key: String, result: String) throws {
    let folder = try Folder()
    let path = folder.store.path(of: "shop")
    try ConfigFolder.write(text, to: path, label: path, replacing: false)
    // A multi-line inline table is not valid TOML 1.0.
    guard (try? folder.store.load("shop")) != nil else {
      #expect(text.contains("{\n"))
      return
    }
    #expect(try folder.store.change("shop", set: [], unset: [key]).isEmpty)
    #expect(try folder.store.text(of: "shop") == result)
    #expect(try folder.store.change("shop", set: [], unset: [key]) == [key])
  }

  @Test func setKeepsModeAndLink() throws {
    let folder = try Folder()
    let store = folder.store
    try store.write(url, as: "shop")
    let real = folder.path + "/dotfile.toml"
    try #require(rename(store.path(of: "shop"), real) == 0)
    try #require(chmod(real, 0o640) == 0)
    try #require(symlink(real, store.path(of: "shop")) == 0)
    try store.change("shop", set: [("account", "ada")])
    #expect(folder.mode("dotfile.toml") == 0o640)
    var status = stat()
    #expect(lstat(store.path(of: "shop"), &status) == 0 && status.st_mode & S_IFMT == S_IFLNK)
    #expect(try store.load("shop").account == "ada")
  }

  @Test func inPlace() throws {
    let folder = try Folder()
    let file = folder.path + "/ci.toml"
    try ConfigFolder.write(
      url + "[network]\nca_file = \"ca.pem\"\n", to: file, label: file, replacing: false)
    let profile = try ProfileStore.load(file: folder.path + "/./ci.toml")
    #expect(profile.name == file && profile.file == file)
    #expect(profile.recipe.network.caFile == folder.path + "/ca.pem")
    #expect(failure { _ = try ProfileStore.load(file: folder.path + "/no.toml") }?.kind == .usage)
    #expect(failure { _ = try ProfileStore.load(file: folder.path) }?.kind == .usage)
  }

  @Test(arguments: ["authctl", "authctl/profiles", "authctl/profiles/shop.toml"])
  func looseModes(name: String) throws {
    let folder = try Folder()
    try folder.store.write(url, as: "shop")
    let path = "\(folder.path)/\(name)"
    let good = folder.mode(name)
    // The group of nobody has members other than the owner; only root can give it a file.
    let isShared = geteuid() == 0 && chown(path, 0, 65534) == 0
    for bits: mode_t in [0o002] + (isShared ? [0o020] : []) {
      try #require(chmod(path, good | bits) == 0)
      let failure = failure { _ = try folder.store.load("shop") }
      #expect(failure?.kind == .usage && failure?.hint == "chmod go-w \(path)")
    }
    try #require(chmod(path, good) == 0)
    #expect(try folder.store.load("shop").name == "shop")
  }

  @Test func looseConfig() throws {
    let folder = try Folder()
    try folder.store.write(url, as: "shop")
    try folder.store.setDefault("shop")
    try #require(chmod(folder.path + "/authctl/config.toml", 0o666) == 0)
    #expect(failure { _ = try folder.store.config() }?.kind == .usage)
  }

  @Test(.enabled(if: geteuid() == 0, "needs root to give a file away"))
  func foreignOwner() throws {
    let folder = try Folder()
    try folder.store.write(url, as: "shop")
    try #require(chown(folder.store.path(of: "shop"), 65534, 65534) == 0)
    let failure = failure { _ = try folder.store.load("shop") }
    #expect(failure?.kind == .usage && failure?.message.contains("belongs to user 65534") == true)
  }

  @Test(
    arguments: [
      ("store = \"file\"\nlock_timeout = 5\nstore_timeout = 2.5\ndefault_profile = \"a\"", nil),
      ("defalt_profile = \"a\"", "~/authctl/config.toml:1:1: unknown key defalt_profile"),
      ("\nstore = 1", "~/authctl/config.toml:2:1: store: must be a string"),
      ("\n\nstore = \"flie\"", "~/authctl/config.toml:3:1: store: unknown store flie"),
      ("lock_timeout = 0", "~/authctl/config.toml:1:1: lock_timeout: must be more than 0"),
      (
        "default_profile = \"../x\"",
        "~/authctl/config.toml:1:1: default_profile: must be a profile name"
      ),
    ] as [(String, String?)])
  func config(text: String, message: String?) throws {
    let folder = try Folder()
    let path = folder.path + "/authctl/config.toml"
    try ConfigFolder.write(text, to: path, label: path, replacing: false)
    guard let message else {
      let config = try folder.store.config()
      #expect(config.store == .file && config.lockTimeout == 5 && config.storeTimeout == 2.5)
      #expect(config.defaultProfile == "a")
      return
    }
    let failure = failure { _ = try folder.store.config() }
    #expect(failure?.message.utf8.starts(with: message.utf8) == true, "\(failure?.message ?? "")")
  }

  @Test(arguments: [
    ("shop", true), ("a", true), ("A9", true), ("9a", true), ("a.b", true), ("a_b-c.d", true),
    (String(repeating: "a", count: 64), true), ("127.0.0.1", true), ("a.tom", true),
    ("toml", true), ("a..b", true), ("a-", true), ("con", true), ("a.toml.x", true),
    ("", false), (".", false), ("..", false), (".a", false), ("-a", false), ("_a", false),
    ("a/b", false), ("../a", false), ("/a", false), ("a\\b", false), ("a b", false),
    ("a\n", false), ("a\r\n", false), ("a\0", false), ("a\u{1B}", false), ("é", false),
    ("e\u{301}", false), ("a\u{301}", false), ("\u{212A}", false), ("a.toml", false),
    (String(repeating: "a", count: 65), false), ("a:b", false), ("a@b", false), ("*", false),
    ("a'b", false), ("a\u{202E}b", false), ("$(id)", false), ("~", false),
  ])
  func profileNames(name: String, isGood: Bool) throws {
    #expect(ProfileStore.isName(name) == isGood)
    guard !isGood else { return }
    let folder = try Folder()
    let store = folder.store
    #expect(failure { _ = try store.load(name) }?.kind == .usage)
    #expect(failure { try store.write(url, as: name) }?.kind == .usage)
    #expect(failure { try store.change(name, set: [("account", "ada")]) }?.kind == .usage)
    #expect(failure { try store.remove(name) }?.kind == .usage)
    #expect(failure { try store.setDefault(name) }?.kind == .usage)
    #expect(try ConfigFolder.list(folder.path).count == 2, "nothing was made")
  }

  @Test(
    arguments: [
      ("https://api.shop.example", [], "shop"), ("http://shop.example:8080", [], "shop"),
      ("https://www.api.bank.de", [], "bank"), ("https://API.Shop.example", [], "shop"),
      ("http://localhost:8080", [], "localhost"), ("https://api", [], "api"),
      ("https://api.shop.example", ["shop"], "api.shop.example"),
      ("https://api.shop.example", ["shop", "api.shop.example"], "api.shop.example-2"),
      ("http://127.0.0.1", [], "127-0-0-1"), ("http://127.0.0.1:80", [], "127-0-0-1"),
      ("https://127.0.0.1:80", [], "127-0-0-1-80"),
      ("http://127.0.0.1:8080", [], "127-0-0-1-8080"),
      ("http://127.0.0.1:8080", ["127-0-0-1-8080"], "127-0-0-1-8080-2"),
      ("http://[::1]", [], "1"), ("http://[2001:db8::1]:8080", [], "2001-db8-1-8080"),
      ("https://x_y.example", [], "x_y"), ("https://_srv.example", [], "srv"),
      ("https://foo.toml", ["foo"], "foo-toml"),
    ] as [(String, [String], String)])
  func namesOfHosts(url: String, taken: [String], name: String) throws {
    #expect(ProfileStore.name(for: try WebURL(url, from: .person).origin, taken: taken) == name)
    #expect(ProfileStore.isName(name))
  }
}
