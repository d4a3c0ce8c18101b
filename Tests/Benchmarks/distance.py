"""A distance on one machine, where the kernel has no netem: a second network, and a line to it that
holds every packet back for half of the round trip. Needs root and /dev/net/tun."""

import contextlib
import ctypes
import fcntl
import os
import socket
import statistics
import struct
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# Addresses for benchmarks (RFC 2544); not loopback, so rules for other machines hold.
NEAR, FAR = "198.18.0.1", "198.18.0.2"
LIBC = ctypes.CDLL(None, use_errno=True)
NEW_NETWORK = 0x40000000


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def new_network():
    """Moves this thread into a network of its own, which ends with the last process in it."""
    check(LIBC.unshare(NEW_NETWORK))
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


def tun(name, address):
    """The descriptor of a new device in the network of this thread (linux/if_tun.h)."""
    device = os.open("/dev/net/tun", os.O_RDWR)
    set_device, no_header = 0x400454CA, 0x1001
    fcntl.ioctl(device, set_device, struct.pack("16sH22x", name.encode(), no_header))
    subprocess.run(["ip", "address", "add", f"{address}/30", "dev", name], check=True)
    subprocess.run(["ip", "link", "set", name, "up"], check=True)
    return device


class Line:
    """The line from the network of this process, also a new one, to that of FAR. Raises OSError."""

    def __init__(self, folder):
        self.here = new_network()
        devices = [tun("near", NEAR)]
        self.network = new_network()
        try:
            devices.append(tun("far", FAR))
        finally:
            check(LIBC.setns(self.here, NEW_NETWORK))
        subprocess.run(["cc", "-O2", f"{HERE}/line.c", "-o", f"{folder}/line"], check=True)
        self.process = subprocess.Popen([f"{folder}/line", *map(str, devices)], pass_fds=devices,
                                        stdin=subprocess.PIPE)
        # A wire does not wait for a processor.
        with contextlib.suppress(PermissionError):
            os.sched_setscheduler(self.process.pid, os.SCHED_FIFO, os.sched_param(1))

    @contextlib.contextmanager
    def there(self):
        """Processes that are started within are at the far end."""
        check(LIBC.setns(self.network, NEW_NETWORK))
        try:
            yield
        finally:
            check(LIBC.setns(self.here, NEW_NETWORK))

    def set_round_trip(self, milliseconds, port):
        """Returns the milliseconds that a connection to `port` takes from now on, the median."""
        self.process.stdin.write(b"%d\n" % (milliseconds * 500))
        self.process.stdin.flush()
        times = []
        for _ in range(7):
            begin = time.monotonic()
            with socket.create_connection((FAR, port)):
                times.append((time.monotonic() - begin) * 1000)
        return statistics.median(times)
