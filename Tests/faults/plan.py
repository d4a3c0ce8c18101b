"""The faults: which system calls fail, and how."""

import collections
import dataclasses
import re

# The calls, and the errors that Linux documents for them. EINTR comes where a signal handler runs
# without SA_RESTART.
ERRORS = {
    "openat": ["EMFILE", "EACCES", "ENOSPC", "ENOMEM"],
    "read": ["EIO", "EINTR", "ENOMEM"],
    "pread64": ["EIO"],
    "write": ["ENOSPC", "EIO", "EINTR"],
    "writev": ["ENOSPC", "EIO", "EINTR"],
    "pwrite64": ["ENOSPC", "EIO"],
    "fsync": ["EIO", "ENOSPC", "EINTR"],
    "rename": ["ENOSPC", "EACCES", "EIO"],
    "renameat": ["ENOSPC", "EACCES", "EIO"],
    "link": ["ENOSPC", "EACCES"],
    "linkat": ["ENOSPC", "EACCES"],
    "unlink": ["EACCES", "EIO"],
    "unlinkat": ["EACCES", "EIO"],
    "mkdir": ["ENOSPC", "EACCES"],
    "rmdir": ["EACCES"],
    "fchmod": ["EIO"],
    "ftruncate": ["EIO"],
    "flock": ["EINTR", "ENOLCK", "EIO"],
    "newfstatat": ["EACCES"],
    "fstatfs": ["EIO"],
    "readlink": ["EACCES"],
    "access": ["EACCES"],
    "getdents64": ["EIO"],
    "close": ["EIO"],
    "fcntl": ["EMFILE"],
    "socket": ["EMFILE", "ENOMEM", "EACCES"],
    "socketpair": ["EMFILE"],
    "pipe2": ["EMFILE"],
    "eventfd2": ["EMFILE"],
    "signalfd4": ["EMFILE"],
    "connect": ["ECONNREFUSED", "EACCES", "ENOMEM", "EINTR"],
    "getsockopt": ["ENOMEM"],
    "setsockopt": ["ENOMEM"],
    "sendto": ["EPIPE", "ENOMEM", "EINTR"],
    "sendmsg": ["EPIPE", "ENOMEM", "EINTR"],
    "sendmmsg": ["EPIPE", "ENOMEM"],
    "recvfrom": ["ECONNRESET", "ENOMEM", "EINTR"],
    "recvmsg": ["ECONNRESET", "ENOMEM", "EINTR"],
    "poll": ["EINTR", "ENOMEM"],
    "ppoll": ["EINTR"],
    "mmap": ["ENOMEM"],
    "mprotect": ["ENOMEM"],
    "brk": ["ENOMEM"],
    "clone3": ["EAGAIN", "ENOMEM"],
    "clone": ["EAGAIN", "ENOMEM"],
    "vfork": ["EAGAIN", "ENOMEM"],
    "execve": ["EACCES", "ENOMEM"],
    "wait4": ["EINTR"],
}

# SIGKILL comes at these: between any two of them nothing outside the process changes.
KILLED_AT = ["openat", "write", "fsync", "rename", "renameat", "link", "linkat", "unlink",
             "unlinkat", "mkdir", "rmdir", "fchmod", "flock", "close", "connect", "sendto",
             "sendmsg", "recvfrom", "recvmsg", "poll", "clone3", "wait4"]

# These fail from the Nth time on: a full or broken disk, no descriptors left, no server.
LASTING = [("write", "ENOSPC"), ("fsync", "EIO"), ("renameat", "ENOSPC"), ("openat", "EMFILE"),
           ("connect", "ECONNREFUSED"), ("flock", "ENOLCK"), ("clone3", "EAGAIN")]

# Memory: when malloc gets none, Swift and GLib end the process; no program in Swift survives that.
MEMORY = {"mmap", "mprotect", "brk"}


@dataclasses.dataclass(frozen=True)
class Fault:
    """The `number`th `call` of each thread fails with `error`. `SIGKILL` kills the process there,
    and `short` writes only half. If it `lasts`, all later ones fail too."""
    call: str
    error: str
    number: int
    lasts: bool = False

    def __str__(self):
        return f"{self.call} {self.error} {self.number}{'+' if self.lasts else ''}"

    @property
    def injection(self):
        """The argument of strace -e."""
        what = "signal=KILL" if self.error == "SIGKILL" else f"error={self.error}"
        return f"inject={self.call}:{what}:when={self.number}{'+' if self.lasts else ''}"


def fits(call, error, places):
    """Whether a call can fail so, at one of its places: lines of strace -y."""
    if (call, error) == ("openat", "ENOSPC"):
        return any("O_CREAT" in place or "O_TMPFILE" in place for place in places)
    # Only a disk is full or broken. The first descriptor of a line is that of the call.
    if call in ("read", "write", "close") and error in ("ENOSPC", "EIO"):
        return not all(re.match(r"\w+\(\d+<(pipe|socket|UNIX|TCP|anon_inode)", place)
                       for place in places)
    return True


def faults(calls):
    """All faults of a command. `calls` has the places of the Nth call of each thread, by the name
    of the call and N."""
    counts = collections.Counter(call for call, _ in calls)
    for call, errors in ERRORS.items():
        for number in range(1, counts.get(call, 0) + 1):
            # The first execve is strace's own.
            if call == "execve" and number == 1:
                continue
            for error in errors:
                if fits(call, error, calls[call, number]):
                    yield Fault(call, error, number)
            if call in KILLED_AT:
                yield Fault(call, "SIGKILL", number)
            for lasting, error in LASTING:
                if lasting == call:
                    yield Fault(call, error, number, lasts=True)
    # One that writes one byte each time, and one at each place.
    for number in range(0, counts.get("write", 0) + 1):
        yield Fault("write", "short", number)


# The faults of `make test`: a few dozen, where most goes wrong if something does.
QUICK = {
    "get": ["write ENOSPC", "write SIGKILL", "fsync EIO", "renameat ENOSPC", "renameat SIGKILL",
            "flock EINTR", "connect ECONNREFUSED", "sendto EPIPE", "recvfrom ECONNRESET",
            "clone3 EAGAIN"],
    "profile set": ["write ENOSPC", "write short", "fsync EIO", "renameat EIO", "flock EINTR",
                    "openat EMFILE", "rename SIGKILL", "renameat SIGKILL"],
    "profile rename": ["getdents64 EIO", "linkat ENOSPC", "link ENOSPC", "unlink EIO"],
    "get -o": ["write ENOSPC", "write short", "renameat ENOSPC", "linkat ENOSPC"],
    "exec --file": ["write ENOSPC", "renameat ENOSPC", "mkdir EACCES"],
}


def quick(scenario, calls):
    """The faults of `make test`, without those of libraries that are opened."""
    for fault in faults(calls):
        if f"{fault.call} {fault.error}" not in QUICK.get(scenario, []) or fault.lasts:
            continue
        places = calls[fault.call, fault.number]
        if fault.call != "openat" or not all(re.search('"/(etc|lib|usr|sys)/', p) for p in places):
            yield fault
