"""Compares the cost of authctl with that of the alternatives; see `make bench`.

    bench.py AUTHCTL [--quick] [--runs N] [--build] [--write FILE] [GROUP]...

Being slow is not a failure: the machine may be busy.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import distance
import report
import servers
from measure import Measurement, verdict
from servers import TOKEN

HERE = os.path.dirname(os.path.abspath(__file__))
HEADER = f"Authorization: Bearer {TOKEN}"
CURL = "curl, token in hand"
IDIOM = "sh, secret-tool, curl"


class Bench(Measurement):
    """The programs, the servers, a keyring with seven sessions, and the line to another network."""

    def __init__(self, options, folder):
        super().__init__(options.runs, folder, servers.environment(folder))
        self.authctl, self.quick = os.path.abspath(options.authctl), options.quick
        self.started, self.profiles, self.agent = [], set(), False

    def prepare(self):
        try:
            self.line = distance.Line(self.folder)
            self.started.append(self.line.process)
        except (OSError, subprocess.CalledProcessError) as error:
            self.line = None
            print(f"distances are left out, since they need root and /dev/net/tun: {error}")
        servers.certificate(self.folder, ["127.0.0.1", distance.FAR])
        self.port, tls = servers.free_port(), servers.free_port()
        if not servers.trust_authority(self.folder):
            tls = None
            print("https is left out: only root can put the authority beside the system's")
        self.started.append(servers.nginx(self.folder, "127.0.0.1", self.port, tls))
        self.near = {"http": f"http://127.0.0.1:{self.port}"}
        self.far = {"http": f"http://{distance.FAR}:{self.port}"}
        if tls:
            self.near["https"] = f"https://localhost:{tls}"
            self.far["https"] = f"https://{distance.FAR}:{tls}"
        if self.line:
            with self.line.there():
                self.started.append(servers.nginx(self.folder, distance.FAR, self.port, tls))
        self.sink = f"http://127.0.0.1:{servers.sink()}"

        keyring = servers.keyring(self.folder, self.env)
        self.started += keyring
        self.daemons = [daemon.pid for daemon in keyring]
        if shutil.which("oidc-agent"):
            self.agent = True
            self.started.append(servers.oidc_agent(self.folder, self.env))
        self.run("secret-tool", "store", "--label", "bench", "service", "bench", stdin=TOKEN)
        flags = self.run("pkg-config", "--cflags", "--libs", "libsecret-1", "libcurl").split()
        self.run("cc", "-O2", f"{HERE}/floor.c", "-o", f"{self.folder}/floor", *flags)

        for name in ("plain", "first", "second", "third"):
            self.session(name, self.near["http"])
        self.session("sink", self.sink)
        self.session("renewed", self.near["http"], renewed=True)
        self.run(self.authctl, "profile", "add", "oauth", self.near["http"],
                 "--set", "oauth.token_endpoint=/lasting", "--set", "oauth.client_id=bench",
                 "--set", "oauth.grant=client-credentials")
        self.run(self.authctl, "login", "-p", "oauth", "--client-secret-stdin", stdin="secret")

    def session(self, name, url, renewed=False):
        """The name of a profile with a session; one that is `renewed` has always expired."""
        if name not in self.profiles:
            self.profiles.add(name)
            self.run(self.authctl, "profile", "add", name, url, "--preset", "json",
                     "--set", "network.allow_http=true", "--set", "refresh.path=/token",
                     "--set", 'refresh.body={"r":"{refresh_token}"}')
            refresh = ["--refresh-token-command", "echo again"] if renewed else []
            self.run(self.authctl, "login", "-p", name, "-u", "ada", "--token-fd", "0", *refresh,
                     stdin=TOKEN)
            if renewed:
                self.run(self.authctl, "refresh", "-p", name)
        return name

    def account(self, name, url):
        """The name of an account of oidc-agent with a token that has not expired."""
        if name not in self.profiles:
            self.profiles.add(name)
            self.run("oidc-gen", name, "--manual", f"--iss={url}/", "--client-id=bench",
                     "--client-secret=secret", "--redirect-uri=http://localhost:4242",
                     "--scope=openid offline_access", "--rt=again", "--no-save", "--prompt=none",
                     "--confirm-yes", "--cp=/etc/ssl/certs/ca-certificates.crt")
        return name

    def get(self, profile, url):
        return "authctl get", [self.authctl, "get", "-p", profile, url]

    def end(self):
        for child in reversed(self.started):
            child.terminate()
            child.wait()


def curl(url):
    return CURL, ["curl", "-sH", HEADER, url]


def httpie(url):
    return "HTTPie", ["http", "--ignore-stdin", url, HEADER]


def with_token_of(command, url):
    return f'curl -sH "Authorization: Bearer $({command})" {url}'


def idiom(url):
    return IDIOM, with_token_of("secret-tool lookup service bench", url)


# # Groups, in the order of the tables


def size(bench):
    bytes = os.path.getsize(bench.authctl) / 1e6
    bench.row("sizes", "program", "authctl", f"{bytes:.1f} MB", "", verdict(bytes, 16, " MB"))


def start_up(bench):
    bench.group("start-up", [
        ("authctl --version", [bench.authctl, "--version"]),
        ("curl --version", ["curl", "--version"]),
        ("gh --version", ["gh", "--version"])], {"curl --version": 0.4})


def completion(bench):
    bench.group("completion of a profile",
                [("authctl", [bench.authctl, "__complete", "profiles"])])


def token(bench):
    lookup = ("secret-tool lookup", ["secret-tool", "lookup", "service", "bench"])
    words = [bench.authctl, "token", "-p", "plain"]
    pair = [("authctl token", words), lookup]
    bench.group("token", pair, {lookup[0]: 1.15})
    bench.group("status, seven sessions", [("authctl status", [bench.authctl, "status"]), lookup],
                {lookup[0]: 1.1})
    bench.peak("memory, token", pair)
    bench.instructions("token", words)


def get_http(bench):
    url = f"{bench.near['http']}/me"
    get = bench.get("plain", url)
    bench.group("get, http", [
        get, curl(url), idiom(url), httpie(url),
        ("C, the same calls", [f"{bench.folder}/floor", url, "profile", "plain"])], {IDIOM: 0.85})
    bench.group("get, AUTHCTL_TOKEN, http", [get, curl(url)], {CURL: 1.5},
                env={"AUTHCTL_TOKEN": TOKEN})
    bench.peak("memory, get", [get, curl(url)])
    bench.instructions("get, http", get[1])


def get_oauth(bench):
    url, ours = f"{bench.near['http']}/me", "session of a recipe"
    bench.group("get, by kind of session", [
        ("session of [oauth]", bench.get("oauth", url)[1]), (ours, bench.get("plain", url)[1])],
        {ours: 1.03}, share=2)


def get_refresh(bench):
    with_refresh(bench, "get with a refresh, http", "renewed", bench.near["http"])


def with_refresh(bench, title, profile, origin, **more):
    """The token has expired: a new pair is fetched and stored before the request."""
    url, endpoint = f"{origin}/me", f"{origin}/token"
    store = (f'curl -sd "r=$(secret-tool lookup service bench)" {endpoint} '
             f"| secret-tool store --label renewed service renewed; ")
    commands = [
        bench.get(profile, url),
        ("curl, both requests", ["curl", "-sd", "r=again", endpoint, "--next", "-sH", HEADER, url]),
        (f"{IDIOM}, twice", store + with_token_of("secret-tool lookup service renewed", url)),
        ("HTTPie, twice", f"http --ignore-stdin --form POST {endpoint} r=again; "
                          f"http --ignore-stdin {url} '{HEADER}'")]
    if bench.agent:
        new = f"oidc-token --force-new {bench.account(f'agent-{profile}', origin)}"
        commands.append(("oidc-token, curl", with_token_of(new, url)))
    bench.group(title, commands, **more)


def get_https(bench):
    if "https" not in bench.near:
        return
    url = f"{bench.near['https']}/me"
    get = bench.get(bench.session("secure", bench.near["https"]), url)
    bench.group("get, https", [
        get, curl(url), idiom(url), httpie(url),
        ("C, the same calls", [f"{bench.folder}/floor", url, "profile", "secure"])],
        {CURL: 0.8, IDIOM: 0.85})
    bench.group("get, AUTHCTL_TOKEN, https", [get, curl(url)], {CURL: 0.6},
                env={"AUTHCTL_TOKEN": TOKEN})


def distances(bench):
    """The first request of a process."""
    if not bench.line:
        return
    more = {"table": "distances"}
    for milliseconds in (0, 20) if bench.quick else (0, 20, 50, 100):
        handshake = bench.line.set_round_trip(milliseconds, bench.port)
        bench.row("distances", f"{milliseconds} ms away", "handshake of TCP", f"{handshake:.1f}",
                  *[""] * 4)
        for scheme, origin in bench.far.items():
            url, where = f"{origin}/me", f"{scheme}, {milliseconds} ms"
            far = bench.session(f"far-{scheme}", origin)
            renewed = bench.session(f"renewed-{scheme}", origin, renewed=True)
            commands = [bench.get(far, url), curl(url), idiom(url), httpie(url)]
            if bench.agent:
                account = bench.account(f"agent-{renewed}", origin)
                commands.append(("oidc-token, curl", with_token_of(f"oidc-token {account}", url)))
            bound = {} if milliseconds < 20 else {CURL: 1.0 if scheme == "http" else 0.97}
            bench.group(f"get, {where}", commands, bound, **more)
            with_refresh(bench, f"get with a refresh, {where}", renewed, origin, **more)


def batch(bench):
    near, lines, config = bench.near["http"], f"{bench.folder}/lines", f"{bench.folder}/curl.config"
    for count, share, bound in ((1000, 1, 1.25), (20_000, 1 / 6, 1.0), (100_000, 1 / 10, 1.0)):
        if bench.quick and count > 1000:
            break
        with open(lines, "w") as file:
            file.writelines('{"method":"GET","url":"/me"}\n' for _ in range(count))
        with open(config, "w") as file:
            file.writelines(f'url = "{near}/me"\noutput = "/dev/null"\n' for _ in range(count))
        pair = [("authctl batch", f"exec '{bench.authctl}' batch -p plain --parallel 50 <{lines}"),
                ("curl --parallel", ["curl", "-s", "--parallel", "--parallel-max", "50",
                                     "-H", HEADER, "-K", config])]
        bounds = {"curl --parallel": bound}
        bench.group(f"batch of {count}", pair, bounds, share=share)
        if count == 1000:
            bench.group("batch of 1000, AUTHCTL_TOKEN", pair, bounds, env={"AUTHCTL_TOKEN": TOKEN})
        bench.peak(f"memory, batch of {count}", pair)


def crowd(bench):
    url = f"{bench.near['http']}/me"
    each = "seq 100 | xargs -P 100 -I '{}' "
    bench.group("100 processes at once", [
        ("authctl get", each + f"'{bench.authctl}' get -p plain {url}"),
        (IDIOM, each + f"sh -c '{idiom(url)[1]}'")],
        processor={IDIOM: 1.0}, share=1 / 3, daemons=True)


def transfers(bench):
    # What was written before is not written back meanwhile.
    os.sync()
    copy, files = f"{bench.folder}/copy", f"{bench.folder}/files"
    down = lambda name: [bench.authctl, "get", "-p", "plain", f"/{name}", "-o", copy]
    up = lambda name: [bench.authctl, "put", "-p", "sink", "/up", "--input", f"{files}/{name}"]
    both = ["curl", "-sH", HEADER]
    for where, ours, theirs in (
            ("down", down, ("curl -o", [*both, f"{bench.near['http']}/large", "-o", copy])),
            ("up", up, ("curl -T", [*both, "-T", f"{files}/large", f"{bench.sink}/up"]))):
        pair = [("authctl", ours("large")), theirs]
        bench.group(f"1 GiB {where}", pair, {theirs[0]: 1.05}, share=1 / 6)
        small = "authctl, 1 MiB"
        bench.peak(f"memory, 1 GiB {where}", [*pair, (small, ours("small"))],
                   {theirs[0]: 13, small: 1})


GROUPS = [size, start_up, completion, token, get_http, get_oauth, get_refresh, get_https, distances,
          batch, crowd, transfers]


def build(bench):
    """A release build in a new clone of what is committed, with the dependencies at hand."""
    with tempfile.TemporaryDirectory(prefix="authctl-build.") as clone:
        for words in (["git", "clone", "--quiet", f"{HERE}/../..", clone],
                      ["swift", "package", "--package-path", clone, "resolve"]):
            subprocess.run(words, check=True, capture_output=True)
        begin = time.monotonic()
        subprocess.run(["make", "build"], cwd=clone, check=True, capture_output=True,
                       env=os.environ | {"MAKEFLAGS": ""})
        seconds = time.monotonic() - begin
    bench.row("sizes", "clean release build", "make", f"{seconds:.0f} s", "",
              verdict(seconds, 110, " s"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("authctl")
    parser.add_argument("--runs", type=int, default=30, metavar="N", help="of most commands (30)")
    parser.add_argument("--quick", action="store_true", help="three runs, and less of what is long")
    parser.add_argument("--build", action="store_true", help="time a clean build too")
    parser.add_argument("--write", metavar="FILE", help="write the tables to FILE")
    parser.add_argument("groups", nargs="*", metavar="GROUP",
                        help="only these: " + ", ".join(group.__name__ for group in GROUPS))
    options = parser.parse_intermixed_args()
    groups = {group.__name__: group for group in GROUPS}
    for name in options.groups:
        groups.get(name) or parser.error(f"there is no group {name}")
    if options.quick:
        options.runs = 3
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="authctl-bench.") as folder:
        bench = Bench(options, folder)
        try:
            if options.build:
                build(bench)
            bench.prepare()
            for group in [groups[name] for name in groups if name in (options.groups or groups)]:
                group(bench)
        finally:
            bench.end()
    if options.write:
        report.write(options.write, bench.rows)


if __name__ == "__main__":
    main()
