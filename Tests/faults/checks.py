"""What must hold after a run with a fault."""

import os
import re
import signal

import plan
from scenarios import ME
from world import SECRETS

# A system call that fails does not make the command line wrong, the user unknown, the session
# expired, or the server's answer another one: these are no exit codes for it.
STATUSES = {1, 7, 9, 12}
STATUSES_OF_EXEC = {125, 126}
UNFIT = re.compile(r"not installed|not signed in|no session|no such profile|is no profile|"
                   r"there is no profile|has expired|unknown|[Ff]atal error")

# rename(2) needs a name, which a file of -o gets only then: a process that is killed between
# link(2) and rename(2) leaves it, and no later run looks there.
PART = re.compile(r"out/answer\.\d+\.part")

# Signals by which Swift, GLib and libc end a process that gets no memory.
OUT_OF_MEMORY = {-signal.SIGILL, -signal.SIGTRAP, -signal.SIGABRT, -signal.SIGSEGV,
                 -signal.SIGBUS}


class Calm:
    """What a scenario does without a fault."""

    def __init__(self, scenario, world):
        scenario.prepare(world)
        self.before = tree(world)
        self.calls, trace, self.run = world.calls(scenario.words, scenario.store, scenario.stdin)
        self.problems = list(check_synced(trace))
        if self.run.status != 0:
            raise RuntimeError(f"{scenario.name} fails without a fault: {self.run.err}")
        self.after = tree(world)
        world.prepared = None
        find_session(scenario, world)
        world.run(scenario.words, scenario.store, scenario.stdin)
        self.later = tree(world)

    def contents(self, path):
        """The contents that the file may have; empty if it may not be there."""
        return [tree[path] for tree in (self.before, self.after) if path in tree]


def check_synced(trace):
    """Files of the configuration and of the store are on the disk before they get their name, and
    the name after that: no fault but a power cut would show it."""
    for number, call in enumerate(trace):
        found = re.match(r'(rename|link)\w*\((?:\S+<(.*?)>, )?"(.*?)"', call)
        if not found or call.endswith("(INJECTED)"):
            continue
        source = os.path.join(found[2] or "", found[3])
        if not re.search("/box/(config|state)/", source) or source.endswith(".toml"):
            continue
        if not any(re.match(rf"fsync\(\d+<{re.escape(source)}>", line)
                   for line in trace[:number]):
            yield f"the file is named before its bytes are on the disk: {call}"
        folder = os.path.dirname(source)
        if not any(re.match(rf"fsync\(\d+<{re.escape(folder)}>", line)
                   for line in trace[number:]):
            yield f"the folder is not synced after {call}"


class Verdict:
    def __init__(self, outcome):
        self.outcome = outcome
        self.problems = []
        self.in_window = False
        """Whether the session is lost between the server's answer and the store."""


def tree(world):
    """The folders of a world, without what differs between worlds."""
    return {path: content and content.replace(world.url.encode(), b"URL")
            for path, content in world.tree().items()}


def is_session(path):
    return path.startswith("state/authctl/sessions/")


def outcome(scenario, fault, run):
    """How the run ended, in one word."""
    if fault.error != "short" and not run.injected:
        return "not reached" if run.status is not None else "hung"
    # Only a disk can be full or broken.
    if fault.error in ("ENOSPC", "EIO") and any(
            re.match(r"(write|read|close)\(\d+<(pipe|socket|UNIX|TCP|anon_inode)", call)
            for call in run.injected):
        return "unreal"
    if run.status is None:
        return "hung"
    if run.in_program:
        return "program's"
    if fault.error == "SIGKILL" and run.status == -signal.SIGKILL:
        return "killed"
    if run.status == 127 and "error while loading shared libraries" in run.err:
        return "loader's"
    if run.status < 0:
        if fault.call in plan.MEMORY and run.status in OUT_OF_MEMORY:
            return "no memory"
        # libgcrypt if it cannot read /proc/sys/crypto/fips_enabled, GLib if it gets no thread.
        ends = "FATAL: error" in run.err and "libgcrypt" in run.err \
            or scenario.asks_keyring and fault.call == "clone3" and run.status == -signal.SIGTRAP
        return "library's" if ends else "crashed"
    return "failed" if run.status else "done"


def check(scenario, calm, fault, world):
    """Runs the command of a scenario with a fault; returns the run and the verdict."""
    scenario.prepare(world)
    before = tree(world)
    run = world.run(scenario.words, scenario.store, scenario.stdin, fault)
    verdict = Verdict(outcome(scenario, fault, run))
    problems = verdict.problems
    requests = world.requests()
    after = tree(world)
    # Of the keyring only a request with the session can tell.
    is_as_before = after == before and not requests and not scenario.asks_keyring
    if verdict.outcome in ("not reached", "unreal"):
        world.prepared = world.prepared if is_as_before else None
        return run, verdict
    has_ended = verdict.outcome in (
        "killed", "no memory", "library's", "crashed", "hung")
    # A file that could not be removed is left for the next run as well.
    leaves = has_ended or fault.call in ("unlink", "unlinkat", "rmdir")

    if verdict.outcome in ("hung", "crashed"):
        problems.append(f"{verdict.outcome}: status {run.status}")
    if verdict.outcome == "done":
        problems += check_success(calm, run, after)
    problems += check_tree(calm, after, leaves)
    problems += check_secrets(scenario, run, after, leaves)
    if not is_as_before:
        world.prepared = None
        check_session(scenario, world, run, requests, verdict)
    if verdict.outcome == "failed":
        problems += check_failure(scenario, run, verdict)
    if not is_as_before and (leaves or verdict.outcome != "done"):
        problems += check_repeated(scenario, calm, world, verdict)
    return run, verdict


def check_success(calm, run, after):
    if run.out != calm.run.out:
        yield f"exit 0, but another output: {run.out[:300]!r}"
    for path, content in calm.after.items():
        # The lock and the token's file may have been in /run/user/UID (rules B8 and B11).
        if path not in after and not path.startswith(("state/authctl/locks", "run/")):
            yield f"exit 0, but there is no {path}"
        elif path in after and not is_session(path) and after[path] != content:
            yield f"exit 0, but {path} is not the new one"


def check_failure(scenario, run, verdict):
    # The answer was lost, and libcurl has sent the refresh again.
    if verdict.in_window and run.status == 11:
        return
    statuses = STATUSES | (STATUSES_OF_EXEC if "exec" in scenario.words else set())
    if run.status not in statuses:
        yield f"exit {run.status} does not fit: {run.err[:300]!r}"
    # The message itself may be what could not be written.
    if any(call.startswith("write(2<") for call in run.injected):
        return
    lines = run.err.splitlines()
    if not any(line.startswith("authctl: ") or "requests failed" in line for line in lines):
        yield f"exit {run.status} without a message: {run.err[:300]!r}"
    if UNFIT.search(run.err):
        yield f"the message does not fit: {run.err[:300]!r}"


def check_tree(calm, after, leaves):
    """No file is partial, and none is left, unless the process could not remove it."""
    for path, content in after.items():
        contents = calm.contents(path)
        if contents and content not in contents and not is_session(path):
            yield f"{path} is neither the old nor the new one: {content[:200]!r}"
        if not contents and not leaves:
            yield f"{path} is left"
    for path in calm.before:
        if path not in after and path in calm.after:
            yield f"{path} is gone"


def check_secrets(scenario, run, after, leaves):
    for path, content in after.items():
        if content is None or not SECRETS.search(content):
            continue
        is_store = scenario.plain and is_session(path)
        # The next run removes the file that an `exec` has left.
        is_token = leaves and re.fullmatch(r"run/authctl-exec/\w+/token(\.new)?", path)
        if not is_store and not is_token:
            yield f"a secret is in {path}"
    for name, text in (("stdout", run.out), ("stderr", run.err)):
        if SECRETS.search(text.encode()):
            yield f"a secret is in {name}"


def find_session(scenario, world):
    """Sends a request with the session, wherever it may be. Returns `kept`, `lost` (the server
    refuses it), `gone` (there is none), or the error."""
    found = []
    for profile in scenario.profiles:
        for store in scenario.stores:
            run = world.run(["get", "-p", profile, "/me"], store)
            if run.status == 0 and run.out == ME:
                return "kept"
            found.append("lost" if run.status == 11 else
                         "gone" if run.status == 10 or "no profile" in run.err else
                         f"status {run.status}: {run.err}")
    return next((word for word in found if word != "gone"), "gone")


def check_session(scenario, world, run, requests, verdict):
    """The old or the new session is in the store, except in the window of design 6."""
    if not scenario.signed_in and not scenario.makes_session:
        return
    state = find_session(scenario, world)
    has_failed = run.status != 0
    if state == "kept":
        if scenario.ends_session and not has_failed:
            verdict.problems.append("exit 0, but the session is still there")
    elif state == "gone":
        if not (scenario.ends_session or scenario.makes_session and has_failed):
            verdict.problems.append("the session is gone")
    elif state == "lost" and scenario.ends_session and has_failed:
        pass  # It ended at the server; the same command forgets it.
    elif state == "lost" and has_refreshed(requests, world) and (
            has_failed or "could not be stored" in run.err):
        verdict.in_window = True
    else:
        verdict.problems.append(f"the session is not usable: {state}")


def has_refreshed(requests, world):
    """Whether the server has got a refresh of the run, and not only that of find_session. A killed
    run's request may have arrived after its end."""
    return "POST /refresh" in requests or world.requests().get("POST /refresh", 0) > 1


def check_repeated(scenario, calm, world, verdict):
    """The same command completes what was interrupted, and cleans up."""
    if verdict.in_window:
        return
    run = world.run(scenario.words, scenario.store, scenario.stdin)
    if run.status not in scenario.repeated:
        yield f"the same command again ends with {run.status}: {run.err[:300]!r}"
    if run.status == 2:
        # It had nothing to do; the next command that writes cleans up.
        world.run(["profile", "set", scenario.profiles[-1], "whoami.path=/me"], scenario.store)
    after = tree(world)
    for path, content in after.items():
        known = path in calm.before or path in calm.after or path in calm.later
        if not known and not (verdict.outcome == "killed" and PART.fullmatch(path)):
            yield f"{path} is still there after the next run"
        elif known and path.startswith(("config/", "out/")) and content != calm.after.get(path):
            yield f"{path} is not the new one after the next run"
    for path in calm.after:
        if path not in after and not is_session(path):
            yield f"there is no {path} after the next run"
