"""The accounts of the chaos, and the commands that processes run for them."""

import dataclasses
import json
import re

from world import PASSWORD, PROFILE

CLOUD = """\
url = "{url}/oauth-api"
account = "{account}"
[oauth]
issuer = "{url}"
client_id = "demo-public"
grant = "password"
scope = "openid read offline_access"
"""

# Sealed files have the usual 30 s: they only wait for a disk. The keyring is stopped for longer
# than its 5 s.
CALM = 'default_profile = "shop"\n'
CONFIGS = {"secret-service": CALM + "store_timeout = 5\n", "file": CALM}

# Seconds after which a command hangs: 60 s for the lock, 40 s in it, and the store before and after
# (design 6 and 7, rule B6), on a machine with other work.
LONGEST = 120

# The exit codes of a command while the keyring comes and goes: 12 for the store, 9 for a lock, 10
# and 11 where judge.py finds the sign-out or the lost session that explains them. Sealed files are
# always there.
FITTING = {
    "get": {0, 9, 10, 11, 12}, "refresh": {0, 9, 10, 11, 12}, "token": {0, 9, 10, 11, 12},
    "login": {0, 9, 12}, "login --if-needed": {0, 9, 12}, "logout": {0, 9, 12},
    "status": {0, 12}, "whoami --offline": {0, 10, 12},
}
WEIGHTS = {"get": 52, "refresh": 12, "token": 8, "login": 9, "login --if-needed": 4, "logout": 7,
           "status": 4, "whoami --offline": 4}


@dataclasses.dataclass(frozen=True)
class Account:
    profile: str
    name: str
    stays: bool
    """Whether nobody signs it out: it may never read as not signed in."""

    def words(self, command):
        own = ["-p", self.profile, "-u", self.name]
        if command.startswith("login"):
            return command.split() + own + ["--password-stdin"]
        # -v tells which process has sent a renewal.
        return command.split() + own + ["-v"] + ["/me"] * (command == "get")

    def stdin(self, command):
        return (PASSWORD + "\n").encode() if command.startswith("login") else b""

    def is_right(self, command, out):
        """Whether it is the output of a command that succeeded."""
        if command == "get":
            try:
                return json.loads(out)["email"] == self.name
            except (ValueError, KeyError):
                return False
        if command == "token":
            return re.fullmatch(r"\S{40,}\n", out) is not None
        return self.name in out if command == "whoami --offline" else True


def accounts(count):
    """`count` accounts of each profile."""
    return [Account(profile, f"{profile}{number}@example.com", stays=number % 2 == 0)
            for profile in ("shop", "cloud") for number in range(count)]


def profiles(url):
    texts = {"shop": PROFILE, "cloud": CLOUD}
    return {name: text.format(url=url, account=f"{name}0@example.com")
            for name, text in texts.items()}
