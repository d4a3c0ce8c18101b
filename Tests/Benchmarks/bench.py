"""Compares the cost of authctl with that of the alternatives; see `make bench`.

    bench.py AUTHCTL [--runs N] [--write FILE] [GROUP]...

hyperfine measures each group in rounds over all its commands, because a machine's speed changes
from minute to minute. The report has medians and ratios, and whether a ratio is within its bound.
Being slow is not a failure: the machine may be busy.
"""

import argparse
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import servers

HERE = os.path.dirname(os.path.abspath(__file__))
TOKEN = "eyJhbGciOiJIUzI1NiJ9." + "e30" * 60 + "." + "s" * 43


class Bench:
    def __init__(self, authctl, runs, folder):
        self.authctl, self.runs, self.folder = authctl, runs, folder
        self.lines = []
        self.env = {
            "PATH": os.environ["PATH"], "HOME": f"{folder}/home", "LC_ALL": "C",
            "XDG_CONFIG_HOME": f"{folder}/config", "XDG_STATE_HOME": f"{folder}/state",
            "XDG_DATA_HOME": f"{folder}/data", "XDG_RUNTIME_DIR": f"{folder}/run",
        }
        for name in ("home", "config", "state", "data", "run"):
            os.mkdir(f"{folder}/{name}", 0o700)

    # # Setup

    def run(self, *words, stdin="", **more):
        done = subprocess.run(words, env=self.env | more, input=stdin, text=True,
                              capture_output=True)
        if done.returncode:
            sys.exit(f"{' '.join(words)}: {done.returncode}\n{done.stderr}")
        return done.stdout

    def start_keyring(self):
        address = f"unix:path={self.folder}/bus"
        self.bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", f"--address={address}"], env=self.env,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.env["DBUS_SESSION_BUS_ADDRESS"] = address
        while not os.path.exists(f"{self.folder}/bus"):
            pass
        self.keyring = subprocess.Popen(
            ["gnome-keyring-daemon", "--unlock", "--components=secrets", "--foreground"],
            env=self.env, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.keyring.stdin.write(b"bench")
        self.keyring.stdin.close()
        self.run("gdbus", "wait", "--session", "--timeout", "20", "org.freedesktop.secrets")

    def sign_in(self, name, url):
        self.run(self.authctl, "profile", "add", name, url, "--preset", "json", "--set",
                 "refresh.path=/token", "--set", 'refresh.body={"r":"{refresh_token}"}')
        self.run(self.authctl, "login", "-p", name, "-u", "ada", "--token-stdin", stdin=TOKEN)

    def end(self):
        for child in ("keyring", "bus", "nginx"):
            if hasattr(self, child):
                getattr(self, child).kill()

    # # Measurement

    def group(self, title, commands, bounds, runs=None, prepare=None, more={}):
        """Measures medians of `commands`, a list of (name, words), and ratios of the first to the
        others; `bounds` has the largest acceptable ratio by name."""
        report = f"{self.folder}/report.json"
        runs = runs or self.runs
        rounds = runs // 5 if runs >= 10 else 1
        words = ["hyperfine", "-N", "--warmup", "1", "--runs", str(runs // rounds),
                 "--export-json", report]
        if prepare:
            words += ["--prepare", prepare]
        lines = [command if isinstance(command, str) else quoted(command)
                 for _, command in commands]
        times = [[] for _ in commands]
        for _ in range(rounds):
            self.run(*words, *lines, **more)
            with open(report) as file:
                for mine, result in zip(times, json.load(file)["results"]):
                    mine += result["times"]
        medians = [statistics.median(mine) * 1000 for mine in times]
        for place, ((name, _), median) in enumerate(zip(commands, medians)):
            ratio = medians[0] / median
            bound = bounds.get(name)
            verdict = "" if bound is None else f"{'ok' if ratio <= bound else 'OVER'} (<= {bound})"
            self.row(title if place == 0 else "", name, f"{median:.1f}",
                     "" if place == 0 else f"{ratio:.2f}", verdict)
        return medians

    def row(self, *cells):
        self.lines.append("| " + " | ".join(cells) + " |")
        print(f"{cells[0]:28} {cells[1]:34} {cells[2]:>9} {cells[3]:>6} {cells[4]}", flush=True)

    def peak(self, title, commands, allowance=None):
        """Peak memory in KiB, by /usr/bin/time."""
        peaks = []
        for name, words in commands:
            done = subprocess.run(["/usr/bin/time", "-f", "%M", "-o", f"{self.folder}/peak", *words],
                                  env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if done.returncode:
                sys.exit(f"{words}: {done.returncode} {done.stderr.decode()}")
            with open(f"{self.folder}/peak") as file:
                peaks.append(int(file.read().split()[-1]) / 1024)
        for place, ((name, _), peak) in enumerate(zip(commands, peaks)):
            over = peaks[0] - peak
            verdict = ""
            if place == 1 and allowance is not None:
                verdict = f"{'ok' if over <= allowance else 'OVER'} (<= +{allowance} MiB)"
            self.row(title if place == 0 else "", name, f"{peak:.1f} MiB",
                     "" if place == 0 else f"{over:+.1f}", verdict)

    def instructions(self, title, words):
        """Instructions in user space, by callgrind: unlike times, they are reproducible."""
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={self.folder}/callgrind", *words],
            env=self.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        found = re.search(r"Collected : (\d+)", done.stderr)
        self.row(title, "instructions", f"{int(found[1]) / 1e6:.1f} M" if found else "?", "", "")


def quoted(words):
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


# # Groups, in the order of the table


def start_up(bench):
    bench.group("start-up", [
        ("authctl --version", [bench.authctl, "--version"]), ("curl --version", "curl --version"),
        ("gh --version", "gh --version")], {"curl --version": 0.4})


def completion(bench):
    words = [bench.authctl, "__complete", "profiles"]
    if subprocess.run(words, env=bench.env, capture_output=True).returncode == 0:
        bench.group("completion of a profile", [("authctl", words)], {})


def token(bench):
    lookup = ("secret-tool lookup", ["secret-tool", "lookup", "service", "bench"])
    words = [bench.authctl, "token", "-p", "plain"]
    pair = [("authctl token", words), lookup]
    bench.group("token", pair, {lookup[0]: 1.15})
    bench.group("status", [("authctl status", [bench.authctl, "status"]), lookup], {})
    bench.peak("memory, token", pair)
    bench.instructions("token", words)


def compare_get(bench, title, url, profile, bounds, others=True, **more):
    header = f"Authorization: Bearer {TOKEN}"
    idiom = f'curl -sH "Authorization: Bearer $(secret-tool lookup service bench)" {url}'
    commands = [("authctl get", [bench.authctl, "get", "-p", profile, url])]
    commands += [("curl, token in hand", ["curl", "-sH", header, url])]
    commands += [("sh, secret-tool, curl", ["sh", "-c", idiom])]
    if others:
        commands += [("C, the same calls", [f"{bench.folder}/floor", url, "profile", profile]),
                     ("HTTPie", ["http", "--ignore-stdin", url, header])]
    return bench.group(title, commands, bounds, **more)


def get_http(bench):
    compare_get(bench, "get, http", f"{bench.http}/me", "plain", {"sh, secret-tool, curl": 0.9})
    url = f"{bench.http}/me"
    words = [bench.authctl, "get", "-p", "plain", url]
    pair = [("authctl get", words),
            ("curl, token in hand", ["curl", "-sH", f"Authorization: Bearer {TOKEN}", url])]
    bench.group("get, AUTHCTL_TOKEN, http", pair, {"curl, token in hand": 1.1},
                more={"AUTHCTL_TOKEN": TOKEN})
    bench.peak("memory, get", pair)
    bench.instructions("get, http", words)


def get_refresh(bench):
    """With an expired token: fetches and stores a new pair, then sends the request."""
    url = f"{bench.http}/me"
    idiom = (f'curl -sd "r=$(secret-tool lookup service bench)" {bench.http}/token '
             f"| secret-tool store --label renewed service renewed; "
             f'curl -sH "Authorization: Bearer $(secret-tool lookup service renewed)" {url}')
    bench.run(bench.authctl, "refresh", "-p", "renewed")
    bench.group("get with a refresh", [
        ("authctl get", [bench.authctl, "get", "-p", "renewed", url]),
        ("sh, secret-tool, curl, twice", ["sh", "-c", idiom])], {})


def get_https(bench):
    if not bench.https:
        return
    url = f"{bench.https}/me"
    compare_get(bench, "get, https", url, "secure", {"curl, token in hand": 0.8})
    bench.group("get, AUTHCTL_TOKEN, https", [
        ("authctl get", [bench.authctl, "get", "-p", "secure", url]),
        ("curl, token in hand", ["curl", "-sH", f"Authorization: Bearer {TOKEN}", url])],
        {"curl, token in hand": 0.6}, more={"AUTHCTL_TOKEN": TOKEN})


def get_slow(bench):
    bound = {"curl, token in hand": 1.05}
    compare_get(bench, "get, http, 20 ms away", f"{bench.slow}/me", "slow", bound, others=False)
    if bench.https:
        compare_get(bench, "get, https, 20 ms away", f"{bench.slow_https}/me", "slow-secure", bound,
                    others=False)


def batch(bench):
    for count, runs in ((1000, None), (100_000, 3)):
        lines, config = f"{bench.folder}/lines", f"{bench.folder}/curl.config"
        with open(lines, "w") as file:
            file.writelines('{"method":"GET","url":"/me"}\n' for _ in range(count))
        with open(config, "w") as file:
            file.writelines(f'url = "{bench.http}/me"\noutput = "/dev/null"\n' for _ in range(count))
        authctl = f"'{bench.authctl}' batch -p plain --parallel 50 <{lines} >/dev/null"
        curl = ["curl", "-s", "--parallel", "--parallel-max", "50", "-H",
                f"Authorization: Bearer {TOKEN}", "-K", config]
        pair = [("authctl batch", ["sh", "-c", authctl]), ("curl --parallel", curl)]
        bench.group(f"batch of {count}", pair, {"curl --parallel": 1.0}, runs=runs)
        if count == 1000:
            bench.group("batch of 1000, AUTHCTL_TOKEN", pair, {"curl --parallel": 1.0},
                        more={"AUTHCTL_TOKEN": TOKEN})
        bench.peak(f"memory, batch of {count}", pair)


def crowd(bench):
    url = f"{bench.http}/me"
    each = f"seq 100 | xargs -P 100 -I '{{}}' "
    idiom = f'curl -sH "Authorization: Bearer $(secret-tool lookup service bench)" {url}'
    bench.group("100 processes at once", [
        ("authctl get", ["sh", "-c", each + f"'{bench.authctl}' get -p plain {url} >/dev/null"]),
        ("sh, secret-tool, curl", ["sh", "-c", each + f"sh -c '{idiom}' >/dev/null"])], {}, runs=10)


def transfers(bench):
    large, place = f"{bench.http}/large", f"{bench.folder}/large"
    header = f"Authorization: Bearer {TOKEN}"
    down = [("authctl get -o", [bench.authctl, "get", "-p", "plain", large, "-o", place]),
            ("curl -o", ["curl", "-sH", header, large, "-o", place])]
    bench.group("1 GiB down", down, {"curl -o": 1.05}, runs=5)
    bench.peak("memory, 1 GiB down", down, 6)
    source = f"{bench.folder}/files/large"
    up = [("authctl put --input", [bench.authctl, "put", "-p", "sink", "/up", "--input", source]),
          ("curl -T", ["curl", "-sH", header, "-T", source, f"{bench.sink}/up"])]
    bench.group("1 GiB up", up, {"curl -T": 1.05}, runs=5)
    bench.peak("memory, 1 GiB up", up, 6)


GROUPS = [start_up, completion, token, get_http, get_refresh, get_https, get_slow, batch, crowd,
          transfers]


def trust_authority(folder):
    """Adds the benchmark's authority to the system's certificates, in a mount namespace of this
    process, so that both programs are measured with the certificates that they use by default."""
    libc = __import__("ctypes").CDLL(None, use_errno=True)
    if os.geteuid() != 0 or libc.unshare(0x00020000) != 0:
        return False
    here = f"{folder}/certs"
    shutil.copytree("/etc/ssl/certs", here, symlinks=True)
    shutil.copy(f"{folder}/ca.pem", f"{here}/authctl-benchmark.pem")
    with open(f"{folder}/ca.pem") as ours, open(f"{here}/ca-certificates.crt", "a") as bundle:
        bundle.write(ours.read())
    subprocess.run(["openssl", "rehash", here], capture_output=True)
    return (libc.mount(None, b"/", None, 0x4000 | 0x40000, None) == 0
            and libc.mount(here.encode(), b"/etc/ssl/certs", None, 0x1000, None) == 0)


def prepare(bench):
    servers.certificate(bench.folder)
    has_tls = trust_authority(bench.folder)
    http, https = servers.free_port(), servers.free_port() if has_tls else None
    bench.nginx = servers.nginx(bench.folder, http, https)
    bench.http = f"http://127.0.0.1:{http}"
    bench.https = f"https://localhost:{https}" if https else None
    bench.slow = f"http://127.0.0.1:{servers.slow_line(http, 0.02)}"
    bench.sink = f"http://127.0.0.1:{servers.sink()}"
    bench.start_keyring()
    profiles = {"plain": bench.http, "renewed": bench.http, "slow": bench.slow, "sink": bench.sink}
    if https:
        bench.slow_https = f"https://localhost:{servers.slow_line(https, 0.02)}"
        profiles |= {"secure": bench.https, "slow-secure": bench.slow_https}
    else:
        print("https is left out: the authority can be put beside the system's by root alone")
    for name, url in profiles.items():
        bench.sign_in(name, url)
    bench.run(bench.authctl, "login", "-p", "renewed", "-u", "ada", "--token-fd", "0",
              "--refresh-token-command", "echo again", stdin=TOKEN)
    bench.run("secret-tool", "store", "--label", "bench", "service", "bench", stdin=TOKEN)
    flags = subprocess.run(["pkg-config", "--cflags", "--libs", "libsecret-1", "libcurl"],
                           capture_output=True, text=True, check=True).stdout.split()
    subprocess.run(["cc", "-O2", f"{HERE}/floor.c", "-o", f"{bench.folder}/floor", *flags],
                   check=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("authctl")
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--write")
    parser.add_argument("groups", nargs="*", help=", ".join(group.__name__ for group in GROUPS))
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory(prefix="authctl-bench.") as folder:
        bench = Bench(os.path.abspath(options.authctl), options.runs, folder)
        try:
            prepare(bench)
            for group in GROUPS:
                if not options.groups or group.__name__ in options.groups:
                    group(bench)
        finally:
            bench.end()
    if options.write:
        write(options.write, bench)


NOTES = """
What stands behind them:

- A program with Swift's runtime inside begins 1.2 ms later than one in C: 350 pages are touched and
  50 000 pointers set before `main`. Memory is of the same kind: of the 28 MiB, 10 are pages of the
  program itself, 4 GLib's and libsecret's, and 10 what curl has too. Neither grows with the length of
  a body nor with the number of requests.
- libcurl and its thirty libraries load in 5 ms. The options of a request are read meanwhile, which
  takes as long; with one processor it comes on top.
- Of the 10 ms that a look into the keyring takes, 7 go into the keys of its encrypted session, half
  of them in the keyring's own process. It begins before the options are read, libcurl is loaded
  while the keys are made: a thread cannot be made while a library is being loaded.
- A connection waits for the session, as that says where it may go: nobody else hears as much as a
  connection, whatever the profile says. That is what 20 ms away costs beside a curl with the token
  in hand, and what the shell pays too. To begin the connection where the keyring names that origin,
  and to read the session meanwhile, was measured: 1 to 3 % less, since libcurl is there last. With
  libcurl first it is 13 % by http and 7 % by https, and what is near takes 3 ms more.
- Over https the hashed folder of the system's authorities is looked into, 19 ms less than reading
  their bundle.
"""


def write(path, bench):
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo")
                if line.startswith("model name")), platform.machine())
    curl = subprocess.run(["curl", "--version"], capture_output=True, text=True).stdout.split("\n")[0]
    with open(path, "w") as file:
        file.write(f"""# What authctl costs

Written by `make bench` on {datetime.date.today()}: {cpu}, {os.cpu_count()} cores, \\
{platform.freedesktop_os_release()["PRETTY_NAME"]}, {curl.split(" (")[0]}. Medians in milliseconds where \\
nothing else is said. A ratio is that of the first command of its group to this one, in one run.

| what | command | median | ratio | bound |
| --- | --- | ---: | ---: | --- |
""".replace("\\\n", ""))
        file.write("\n".join(bench.lines) + "\n" + NOTES)


if __name__ == "__main__":
    main()
