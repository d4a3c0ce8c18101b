"""Folders, a DemoAPI, and a bus with a gnome-keyring, for programs that run authctl many times."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

PASSWORD = "correct horse battery"
ACCOUNT = "ada@example.com"
KEYRING_PASSWORD = "keyring"

# DemoAPI's access tokens are JSON Web Tokens or have a prefix, its refresh tokens have 40 letters.
SECRETS = re.compile(
    rb"eyJ[\w-]{10,}\.[\w-]+\.[\w-]+|(?<![A-Za-z])[A-Za-z]{40}(?![A-Za-z])|" + PASSWORD.encode())

BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type><listen>unix:path={root}/bus</listen><auth>EXTERNAL</auth>
  <servicedir>{root}/keyring</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
</busconfig>
"""

PROFILE = """\
url = "{url}"
account = "{account}"
[login]
path = "/login"
body = {{ email = "{{username}}", password = "{{password}}" }}
[refresh]
path = "/refresh"
body = {{ refresh_token = "{{refresh_token}}" }}
[logout]
path = "/logout"
encoding = "none"
[whoami]
path = "/me"
"""


class World(contextlib.ExitStack):
    def __init__(self, authctl, demo_api, *options):
        """`options` are those of DemoAPI."""
        super().__init__()
        self.authctl = os.path.abspath(authctl)
        self.demo_api = os.path.abspath(demo_api)
        self.options = options

    def __enter__(self):
        # Not TMPDIR: the path of a Unix socket is limited to 107 bytes.
        self.root = tempfile.mkdtemp(prefix="authctl-world-", dir="/tmp")
        self.callback(shutil.rmtree, self.root, ignore_errors=True)
        self.box = self.root + "/box"
        self.has_keyring = False
        try:
            self._start_api()
        except BaseException:
            self.close()
            raise
        return self

    def _spawn(self, words, **options):
        child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True, **options)
        self.callback(child.wait)
        self.callback(child.kill)
        return child

    def _start_api(self):
        port = self.root + "/port"
        # It ends when this process ends, in whatever way.
        self._spawn([self.demo_api, "--port", "0", "--port-file", port, "--until-eof",
                     *self.options], stdin=subprocess.PIPE)
        wait_for(lambda: os.path.exists(port) and open(port).read().strip())
        self.port = int(open(port).read())
        self.url = f"http://127.0.0.1:{self.port}"

    # The keyring

    def start_keyring(self):
        """Starts the bus and the keyring, unless they run."""
        if self.has_keyring:
            return
        self.keyring_folder = self.root + "/keyring"
        os.mkdir(self.keyring_folder, 0o700)
        with open(self.keyring_folder + "/bus.conf", "w") as file:
            file.write(BUS.format(root=self.root))
        self.start_bus()
        self.start_daemon()
        self.has_keyring = True

    def start_bus(self):
        socket = self.root + "/bus"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(socket)
        self.bus_process = self._spawn(
            ["dbus-daemon", "--nofork", "--nopidfile",
             f"--config-file={self.keyring_folder}/bus.conf"],
            env=self.keyring_environment, stdin=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(socket))

    def start_daemon(self, unlocked=True):
        """Starts gnome-keyring, and returns when it is on the bus."""
        self.keyring_process = self._spawn(
            ["gnome-keyring-daemon", "--foreground", "--components=secrets",
             f"--control-directory={self.keyring_folder}/control"] + ["--unlock"] * unlocked,
            env=self.keyring_environment, stdin=subprocess.PIPE)
        if unlocked:
            self.keyring_process.stdin.write(KEYRING_PASSWORD.encode())
        self.keyring_process.stdin.close()
        self.gdbus("wait", "-t", "20", "org.freedesktop.secrets")

    def gdbus(self, command, *words):
        subprocess.run(["gdbus", command, "--session", *words], env=self.keyring_environment,
                       check=True, capture_output=True, timeout=60)

    @property
    def keyring_environment(self):
        own = self.keyring_folder
        return dict(PATH=os.environ["PATH"], LANG="C.UTF-8", HOME=own, XDG_DATA_HOME=own,
                    XDG_CONFIG_HOME=own, XDG_CACHE_HOME=own, XDG_RUNTIME_DIR=own,
                    DBUS_SESSION_BUS_ADDRESS=self.bus)

    @property
    def bus(self):
        return f"unix:path={self.root}/bus"

    # The API

    def ask(self, method, path, fields=None):
        """One request of the driver itself."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        body = None if fields is None else json.dumps(fields)
        connection.request(method, path, body,
                           {"Content-Type": "application/json"})
        text = connection.getresponse().read()
        connection.close()
        return json.loads(text) if text else None

    def requests(self):
        """How many requests of each kind the server has had since the last reset."""
        return self.ask("GET", "/count")

    # Folders

    def reset(self, profiles, config):
        """Makes new folders; `profiles` has the text of each by its name."""
        shutil.rmtree(self.box, ignore_errors=True)
        for name in ["", "/home", "/config", "/state", "/cache", "/run", "/out",
                     "/config/authctl", "/config/authctl/profiles"]:
            os.mkdir(self.box + name, 0o700)
        for name, text in profiles.items():
            self.write(f"config/authctl/profiles/{name}.toml", text)
        self.write("config/authctl/config.toml", config)
        self.write("key", "4b" * 32 + "\n")
        self.ask("POST", "/reset", {})

    def write(self, path, text):
        with open(f"{self.box}/{path}", "w", opener=lambda *a: os.open(*a, 0o600)) as file:
            file.write(text)

    def tree(self):
        """Every path in the folders, with the content of files and None for folders."""
        found = {}
        for folder, folders, files in os.walk(self.box):
            for name in folders:
                found[os.path.relpath(f"{folder}/{name}", self.box)] = None
            for name in files:
                path = f"{folder}/{name}"
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.box)] = file.read()
        return found

    # authctl

    def environment(self, store):
        box = self.box
        variables = dict(
            PATH="/usr/bin:/bin", LANG="C.UTF-8", TZ="UTC", HOME=box + "/home",
            XDG_CONFIG_HOME=box + "/config", XDG_STATE_HOME=box + "/state",
            XDG_CACHE_HOME=box + "/cache", XDG_RUNTIME_DIR=box + "/run",
            AUTHCTL_STORE_KEY_FILE=box + "/key", AUTHCTL_NO_INPUT="1")
        if self.has_keyring:
            variables["DBUS_SESSION_BUS_ADDRESS"] = self.bus
        # The default store has no variable, so that it is opened ahead as usual.
        if store != "secret-service":
            variables["AUTHCTL_STORE"] = store
        return variables

    def finish(self, command, variables, stdin, longest, kill_at=None):
        """Runs a command; returns its status, output, errors, start and seconds. The status is
        None if it did not end within `longest` seconds, and negative after a signal, such as
        that after `kill_at` seconds."""
        start = time.time()
        child = subprocess.Popen(command, env=variables, cwd=self.box + "/out",
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = child.communicate(stdin, timeout=longest if kill_at is None else kill_at)
            status = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            status = None if kill_at is None else child.returncode
        return (status, out.decode(errors="replace"), err.decode(errors="replace"), start,
                time.time() - start)


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("a server of the test does not start")
        time.sleep(0.005)
