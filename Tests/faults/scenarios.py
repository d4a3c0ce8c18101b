"""The commands that are run with faults."""

import dataclasses

from world import ACCOUNT, PASSWORD, PROFILE

ME = '{"id":"1","email":"ada@example.com","name":"Ada Lovelace"}'
LOGIN = ["login", "-p", "shop", "--password-stdin"]
TYPED = (PASSWORD + "\n").encode()

BATCH = b'{"id":1,"url":"/me"}\n{"id":2,"url":"/me"}\n{"id":3,"url":"/me"}\n'

# The program reads the file with the shell alone: it has few calls of its own.
PROGRAM = ["/bin/sh", "-c", 'read -r token <"$AUTHCTL_TOKEN_FILE" || test -n "$token"']


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str
    words: list
    store: str = "file"
    stdin: bytes = b""
    signed_in: bool = False
    """Whether a session is stored before."""
    expired: bool = False
    """Whether the server takes its access token no more, so that the command renews it."""
    files: dict = dataclasses.field(default_factory=dict)
    """Files to make before: path to text, in which {url} is replaced."""
    profiles: tuple = ("shop",)
    """The profiles under which the session may be found afterwards."""
    session_stores: tuple = ()
    """The stores in which it may be; only its own if empty."""
    ends_session: bool = False
    makes_session: bool = False
    repeated: tuple = (0,)
    """The statuses of the same command, run again without a fault."""
    plain: bool = False
    """Whether the store `plaintext` is used, which has the secrets in its files."""

    @property
    def stores(self):
        return self.session_stores or (self.store,)

    @property
    def asks_keyring(self):
        return "secret-service" in self.stores

    def prepare(self, world):
        """Makes the folders, the session and the server what they are before the command."""
        if world.prepared == self.name:
            return
        world.prepared = self.name
        if self.asks_keyring:
            world.start_keyring()
        world.renew()
        for path, text in self.files.items():
            world.write(path, text.replace("{url}", world.url))
        if self.signed_in:
            run = world.run(LOGIN, self.store, TYPED)
            # On a busy machine the keyring may be late.
            for _ in range(5):
                if run.status == 12:
                    run = world.run(LOGIN, self.store, TYPED)
            if run.status != 0:
                raise RuntimeError(f"the preparing sign-in failed: {run.status} {run.err}")
        world.ask("POST", "/reset", {})
        if self.expired:
            world.ask("POST", "/expire", {})


GET = ["get", "/me"]
IMPORTED = PROFILE.replace("{{", "{").replace("}}", "}").replace("{account}", ACCOUNT)

ALL = [
    Scenario("login", LOGIN, stdin=TYPED, signed_in=True),
    Scenario("login, the first", LOGIN, stdin=TYPED, makes_session=True),
    Scenario("get", GET, signed_in=True, expired=True),
    Scenario("logout", ["logout", "shop"], signed_in=True, ends_session=True),
    Scenario("profile add", ["profile", "add", "new", "http://127.0.0.1:9", "--set",
                             "login.path=/in"], repeated=(0, 2)),
    Scenario("profile set", ["profile", "set", "shop", "whoami.path=/whoami"]),
    Scenario("profile rename", ["profile", "rename", "shop", "moved"], signed_in=True,
             profiles=("shop", "moved"), repeated=(0, 2)),
    Scenario("profile import", ["profile", "import", "new", "../team.toml"],
             files={"team.toml": IMPORTED}, repeated=(0, 2)),
    Scenario("store migrate", ["store", "migrate", "--from", "file", "--to", "plaintext"],
             signed_in=True, session_stores=("file", "plaintext"), plain=True),
    Scenario("get -o", GET + ["-o", "answer"], signed_in=True, expired=True,
             files={"out/answer": "the old file\n"}),
    Scenario("exec --file", ["exec", "--file", "--"] + PROGRAM, signed_in=True, expired=True),
    Scenario("batch", ["batch"], stdin=BATCH, signed_in=True, expired=True),
    Scenario("login, keyring", LOGIN, "secret-service", TYPED, signed_in=True),
    Scenario("get, keyring", GET, "secret-service", signed_in=True, expired=True),
    Scenario("logout, keyring", ["logout", "shop"], "secret-service", signed_in=True,
             ends_session=True),
    Scenario("store migrate, keyring",
             ["store", "migrate", "--from", "secret-service", "--to", "file"], "secret-service",
             signed_in=True, session_stores=("secret-service", "file")),
]
