"""What one worker has: folders, a DemoAPI, a bus with a gnome-keyring."""

import collections
import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

import plan

# Seconds after which a run hangs. The longest bound of the commands is 5 s for the store, and a
# store that fails is tried again for 3 s.
LONGEST = 25

PASSWORD = "correct horse battery"
ACCOUNT = "ada@example.com"

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

CONFIG = """\
default_profile = "shop"
store_timeout = 5
lock_timeout = 5
"""


class Run:
    """The result of one run of authctl."""

    def __init__(self, status, out, err, injected, in_program, seconds):
        self.status = status
        """Negative: the signal that ended it. None: it was killed after LONGEST seconds."""
        self.out = out
        self.err = err
        self.injected = injected
        """The calls that failed, as strace shows them."""
        self.in_program = in_program
        """Whether the program of `exec` had a fault as well."""
        self.seconds = seconds


class World(contextlib.ExitStack):
    def __init__(self, authctl, demo_api, short_write):
        super().__init__()
        self.authctl = authctl
        self.demo_api = demo_api
        self.short_write = short_write

    def __enter__(self):
        # Not TMPDIR: the path of a Unix socket is limited to 107 bytes.
        self.root = tempfile.mkdtemp(prefix="authctl-faults-", dir="/tmp")
        self.callback(shutil.rmtree, self.root, ignore_errors=True)
        self.box = self.root + "/box"
        self.has_keyring = False
        self.prepared = None
        """The scenario for which everything is prepared."""
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
        self._spawn([self.demo_api, "--port", "0", "--port-file", port, "--until-eof"],
                    stdin=subprocess.PIPE)
        wait_for(lambda: os.path.exists(port) and open(port).read().strip())
        self.port = int(open(port).read())
        self.url = f"http://127.0.0.1:{self.port}"

    def start_keyring(self):
        if self.has_keyring:
            return
        keyring = self.root + "/keyring"
        os.mkdir(keyring, 0o700)
        with open(keyring + "/bus.conf", "w") as file:
            file.write(BUS.format(root=self.root))
        own = dict(PATH=os.environ["PATH"], LANG="C.UTF-8", HOME=keyring, XDG_DATA_HOME=keyring,
                   XDG_CONFIG_HOME=keyring, XDG_CACHE_HOME=keyring, XDG_RUNTIME_DIR=keyring,
                   DBUS_SESSION_BUS_ADDRESS=self.bus)
        self._spawn(["dbus-daemon", "--nofork", "--nopidfile",
                     f"--config-file={keyring}/bus.conf"], env=own, stdin=subprocess.DEVNULL)
        wait_for(lambda: os.path.exists(self.root + "/bus"))
        daemon = self._spawn(
            ["gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets",
             f"--control-directory={keyring}/control"], env=own, stdin=subprocess.PIPE)
        daemon.stdin.write(b"keyring")
        daemon.stdin.close()
        subprocess.run(["gdbus", "wait", "--session", "-t", "20", "org.freedesktop.secrets"],
                       env=own, check=True)
        self.has_keyring = True

    @property
    def bus(self):
        return f"unix:path={self.root}/bus"

    # The API

    def ask(self, method, path, body=None):
        """One request of the driver itself."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        connection.request(method, path, body, {"Content-Type": "application/json"})
        text = connection.getresponse().read()
        connection.close()
        return json.loads(text) if text else None

    def requests(self):
        """How many requests of each kind the server has had since the last reset."""
        return self.ask("GET", "/count")

    # Folders

    def reset(self):
        """New folders with one profile, `shop`."""
        shutil.rmtree(self.box, ignore_errors=True)
        for name in ["", "/home", "/config", "/state", "/cache", "/run", "/out",
                     "/config/authctl", "/config/authctl/profiles"]:
            os.mkdir(self.box + name, 0o700)
        self.write("config/authctl/profiles/shop.toml",
                   PROFILE.format(url=self.url, account=ACCOUNT))
        self.write("config/authctl/config.toml", CONFIG)
        self.write("key", "4b" * 32 + "\n")
        self.ask("POST", "/reset", "{}")

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

    def run(self, words, store, stdin=b"", fault=None):
        """Runs authctl, with one fault; without one, it is not traced."""
        variables = self.environment(store)
        command = [self.authctl] + words
        log = self.root + "/strace"
        if fault and fault.error == "short":
            variables["LD_PRELOAD"] = self.short_write
            variables["FAULTS_SHORT_WRITE"] = str(fault.number)
        elif fault:
            command = ["strace", "-f", "-q", "-y", "-o", log, "-e",
                       f"trace={fault.call},execve", "-e", fault.injection] + command
            # A signal is not injected where the filter stops the call.
            if fault.error != "SIGKILL":
                command.insert(1, "--seccomp-bpf")
        status, out, err, seconds = self._finish(command, variables, stdin)
        if not fault or fault.error == "short":
            return Run(status, out, err, [], False, seconds)
        return Run(status, out, err, *injections(log), seconds)

    def calls(self, words, store, stdin):
        """Runs authctl without a fault; returns the calls, as plan.faults wants them and in their
        order, and the result."""
        log = self.root + "/strace"
        command = ["strace", "-f", "-q", "-y", "-o", log, "-e",
                   "trace=" + ",".join(plan.ERRORS), self.authctl] + words
        run = Run(*self._finish(command, self.environment(store), stdin)[:3], [], False, 0)
        numbers, places, trace = collections.Counter(), collections.defaultdict(list), []
        for line in open(log, errors="replace"):
            thread, _, call = line.partition(" ")
            name = call.strip().partition("(")[0]
            if name in plan.ERRORS:
                numbers[thread, name] += 1
                places[name, numbers[thread, name]].append(call.strip())
                trace.append(call.strip())
        return places, trace, run

    def _finish(self, command, variables, stdin):
        start = time.monotonic()
        child = subprocess.Popen(command, env=variables, cwd=self.box + "/out",
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = child.communicate(stdin, timeout=LONGEST)
            status = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            status = None
        return status, out.decode(errors="replace"), err.decode(errors="replace"), \
            time.monotonic() - start


def injections(log):
    """The calls in a log of strace that were tampered with, and whether the program of `exec` made
    one of them: what a process does after another execve than the first."""
    injected, in_program, first, programs = [], False, None, set()
    for line in open(log, errors="replace"):
        process, _, call = line.strip().partition(" ")
        call = call.strip()
        if "(INJECTED)" in call or "+++ killed by SIGKILL" in call:
            injected.append(call)
            in_program = in_program or process in programs
        elif call.startswith("execve(") and call.endswith("= 0"):
            if first is not None:
                programs.add(process)
            first = process
    return injected, in_program


def wait_for(condition):
    end = time.monotonic() + 30
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("a server of the test does not start")
        time.sleep(0.005)
