"""One worker's world, in which system calls of authctl fail."""

import collections

import plan
from world import ACCOUNT, PROFILE, World

# Seconds after which a run hangs. The longest bound of the commands is 5 s for the store, and a
# store that fails is tried again for 3 s.
LONGEST = 25

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


class TracedWorld(World):
    def __init__(self, authctl, demo_api, short_write):
        super().__init__(authctl, demo_api)
        self.short_write = short_write
        self.prepared = None
        """The scenario for which everything is prepared."""

    def renew(self):
        """New folders with one profile, `shop`."""
        self.reset({"shop": PROFILE.format(url=self.url, account=ACCOUNT)}, CONFIG)

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
        status, out, err, _, seconds = self.finish(command, variables, stdin, LONGEST)
        if not fault or fault.error == "short":
            return Run(status, out, err, [], False, seconds)
        return Run(status, out, err, *injections(log), seconds)

    def calls(self, words, store, stdin):
        """Runs authctl without a fault; returns the calls, as plan.faults wants them and in their
        order, and the result."""
        log = self.root + "/strace"
        command = ["strace", "-f", "-q", "-y", "-o", log, "-e",
                   "trace=" + ",".join(plan.ERRORS), self.authctl] + words
        run = Run(*self.finish(command, self.environment(store), stdin, LONGEST)[:3], [], False, 0)
        numbers, places, trace = collections.Counter(), collections.defaultdict(list), []
        for line in open(log, errors="replace"):
            thread, _, call = line.partition(" ")
            name = call.strip().partition("(")[0]
            if name in plan.ERRORS:
                numbers[thread, name] += 1
                places[name, numbers[thread, name]].append(call.strip())
                trace.append(call.strip())
        return places, trace, run


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
