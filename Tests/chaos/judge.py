"""What must hold for each command, and for each account afterwards."""

import collections
import dataclasses
import re
import signal
import threading

from people import FITTING, LONGEST
from world import SECRETS

RENEWAL = re.compile(r"^> POST /(refresh|token) ", re.MULTILINE)

# Seconds after which a busy server may look at a request that a process has sent.
SERVER_DELAY = 10

# Seconds for which another process's new token, which this one takes, may wait for the store.
STORE_DELAY = 15

# The files of the storm: those of a calm beginning, and sessions, which come and go.
SESSION = re.compile(r"state/authctl/sessions/[0-9a-f]{64}")


@dataclasses.dataclass(frozen=True)
class Run:
    account: object
    command: str
    kill_at: float
    """The seconds after which it is killed; None: never."""
    status: int
    out: str
    err: str
    start: float
    seconds: float

    @property
    def end(self):
        return self.start + self.seconds

    @property
    def is_killed(self):
        return self.kill_at is not None and self.status == -signal.SIGKILL

    @property
    def has_sent_renewal(self):
        return RENEWAL.search(self.err) is not None

    @property
    def lost_renewal(self):
        """Whether the store has not confirmed the tokens of a renewal that it may have sent."""
        # What a killed process has printed may be less than what it has done.
        return self.is_killed and self.command != "status" or \
            self.has_sent_renewal and ("could not be stored" in self.err or self.status == 12)

    @property
    def last_request(self):
        """When the server may have looked at its last request."""
        if not self.is_killed:
            return self.end
        return self.end + (SERVER_DELAY if self.has_sent_renewal else 1)

    def __str__(self):
        killed = f", killed after {self.kill_at:.3f} s" if self.is_killed else ""
        return (f"{self.command} of {self.account.name}: {self.status} in {self.seconds:.1f} s"
                + killed)


class Judge:
    def __init__(self, store):
        self.store = store
        self.lock = threading.Lock()
        self.counts = collections.defaultdict(collections.Counter)
        """By command and status."""
        self.longest = collections.Counter()
        self.problems = []
        self.expired = []
        """Runs that ended with 11."""
        self.windows = []
        """Runs whose renewal the store has not confirmed."""
        self.warned = 0
        self.sign_ins = collections.Counter()
        """The start of the last sign-in that succeeded, by account."""
        self.sign_outs = collections.Counter()
        """The end of the last sign-out, whatever became of it."""
        self.accounts = collections.Counter()
        self.refusals = collections.Counter()
        self.lost = 0

    def add(self, run):
        """Looks at a run; any thread may call it."""
        problems = list(self.problems_of(run))
        with self.lock:
            self.counts[run.command]["killed" if run.is_killed else run.status] += 1
            self.longest[run.command] = max(self.longest[run.command], run.seconds)
            self.problems += [f"{run}: {problem}\n    {run.err!r}" for problem in problems]
            if run.status == 11:
                self.expired.append(run)
            if run.lost_renewal:
                self.windows.append(run)
            self.warned += "could not be stored" in run.err
            if run.command.startswith("login") and run.status == 0:
                self.sign_ins[run.account] = max(self.sign_ins[run.account], run.start)
            if run.command == "logout":
                self.sign_outs[run.account] = max(self.sign_outs[run.account], run.end)

    def problems_of(self, run):
        if run.status is None:
            yield f"it hangs: no end within {LONGEST} s"
            return
        if run.is_killed:
            if SECRETS.search(run.err.encode()):
                yield "a secret is in stderr"
            return
        fitting = FITTING[run.command]
        if self.store == "file":
            fitting = fitting - {9, 12}
        if run.status < 0:
            yield "it ended by a signal of its own"
        elif run.status not in fitting:
            yield "the exit code does not fit"
        if run.status == 10 and run.account.stays:
            yield "not signed in, though nobody has signed out"
        if run.status == 0 and not run.account.is_right(run.command, run.out):
            yield f"exit 0, but not its output: {run.out[:200]!r}"
        if run.status > 0 and run.out:
            yield f"it failed, with output: {run.out[:200]!r}"
        if run.status > 0 and not re.search("^authctl: ", run.err, re.MULTILINE):
            yield "it failed without a message"
        shown = run.err + (run.out if run.command != "token" else "")
        if SECRETS.search(shown.encode()):
            yield "a secret is in its output"

    # Afterwards

    def check_families(self, ended):
        """Each sign-in that ended at the server was signed out, or its renewal was lost between the
        server's answer and the store. `ended` is what the server tells."""
        for family in ended:
            if family["cause"] != "reuse":
                continue
            spent = family["spent"]
            own = [run for run in self.windows if run.account.name == family["account"]]
            if any(run.start <= spent <= run.last_request for run in own):
                self.lost += 1
                continue
            last = max((run for run in own if run.end < spent), key=lambda run: run.end,
                       default=None)
            self.problems.append(
                f"{family['account']}: a refresh token was sent twice, the second time "
                f"{family['at'] - spent:.1f} s later, which no process has lost"
                + (f"; the last that could, {spent - last.end:.1f} s before: {last}"
                   if last else ""))

    def check_refusals(self, ended, expiries):
        """The session of a command that ended with 11 had ended, or the server has expired the
        token that it had just got: `expiries` has when it was asked to and when it answered."""
        for run in self.expired:
            if any(family["account"] == run.account.name and family["at"] <= run.end
                   for family in ended):
                self.refusals["their session had ended"] += 1
            elif "refused the renewed token too" in run.err and any(
                    asked <= run.end and run.start - STORE_DELAY <= answered
                    for asked, answered in expiries):
                self.refusals["their new token was expired at the server"] += 1
            else:
                self.problems.append(f"{run}: its session had not ended\n    {run.err!r}")

    def check_account(self, account, storm):
        """Afterwards an account has its session, which lives at the server, or it was signed out.
        What was lost may be found out by the next renewal only."""
        for command in ("get", "refresh", "get"):
            run = storm.run(account, command)
            if run.status != 0:
                break
        if run.status == 0:
            self.accounts["has its session"] += 1
        elif run.status == 10 and self.sign_outs[account] > self.sign_ins[account]:
            self.accounts["signed out"] += 1
        elif run.status == 11:
            # That its session has ended is checked with the others.
            self.accounts["lost, and found out"] += 1
            self.expired.append(run)
        else:
            self.problems.append(f"afterwards, {run}\n    {run.err!r}")

    def check_files(self, world, before):
        """No file is left, and no secret is in any."""
        for path, content in world.tree().items():
            if path not in before and not SESSION.fullmatch(path):
                self.problems.append(f"{path} is left")
            if content is not None and SECRETS.search(content):
                self.problems.append(f"a secret is in {path}")

    # The table

    def show(self):
        statuses = sorted({status for counts in self.counts.values() for status in counts}, key=str)
        print(f"{'command':20}{'runs':>8}" + "".join(f"{str(status):>8}" for status in statuses)
              + f"{'longest':>10}")
        for command, counts in sorted(self.counts.items()):
            print(f"{command:20}{counts.total():8}"
                  + "".join(f"{counts[status]:8}" for status in statuses)
                  + f"{self.longest[command]:8.1f} s")
