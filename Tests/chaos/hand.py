"""What happens to the keyring and to the tokens while the processes run."""

import collections
import random
import signal
import subprocess
import threading
import time

from world import KEYRING_PASSWORD

COLLECTION = "/org/freedesktop/secrets/collection/login"


class Hand(threading.Thread):
    """Does one thing after the other to a world, with the random numbers of a seed."""

    def __init__(self, world, seed):
        super().__init__(daemon=True)
        self.world = world
        self.rng = random.Random(f"{seed}/{type(self).__name__}")
        self.counts = collections.Counter()
        self.over = threading.Event()
        self.error = None

    def pause(self, least, most):
        """Waits, though not when it is over."""
        self.over.wait(self.rng.uniform(least, most))

    def stop(self):
        self.over.set()
        self.join()
        if self.error:
            raise self.error

    def run(self):
        try:
            while not self.over.is_set():
                act = self.rng.choice(self.acts)
                act(self)
                self.counts[act.__doc__] += 1
                self.pause(*self.calm)
        except Exception as error:  # pylint: disable=broad-except
            self.error = error


class KeyringHand(Hand):
    calm = (1, 6)

    def end_daemon(self, number):
        daemon = self.world.keyring_process
        daemon.send_signal(number)
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()

    def unlock(self):
        """As a user does."""
        world = self.world
        for _ in range(5):
            run = world.finish(
                [world.authctl, "store", "unlock", "--password-stdin", "--store-timeout", "30"],
                world.environment("secret-service"), (KEYRING_PASSWORD + "\n").encode(), 60)
            if run[0] == 0:
                return
        raise RuntimeError(f"store unlock ends with {run[0]}: {run[2]}")

    def restart(self):
        "ended, and started unlocked"
        self.end_daemon(signal.SIGTERM)
        self.world.start_daemon()

    def restart_locked(self):
        "ended, started locked, and unlocked"
        self.end_daemon(signal.SIGTERM)
        self.world.start_daemon(unlocked=False)
        self.pause(0, 3)
        self.unlock()

    def kill(self):
        "killed, and started"
        self.end_daemon(signal.SIGKILL)
        self.pause(0, 2)
        self.world.start_daemon()

    def stop_and_go(self):
        "stopped (SIGSTOP), and continued"
        self.world.keyring_process.send_signal(signal.SIGSTOP)
        self.pause(0.1, 8)
        self.world.keyring_process.send_signal(signal.SIGCONT)

    def lock(self):
        "locked, and unlocked"
        self.world.gdbus("call", "-d", "org.freedesktop.secrets", "-o", "/org/freedesktop/secrets",
                         "-m", "org.freedesktop.Secret.Service.Lock", f"['{COLLECTION}']")
        self.pause(0, 3)
        self.unlock()

    def restart_bus(self):
        "its bus killed, and both started"
        self.world.bus_process.kill()
        self.world.bus_process.wait()
        self.pause(0, 2)
        # It ends with its bus, at the latest now.
        self.end_daemon(signal.SIGTERM)
        self.world.start_bus()
        self.world.start_daemon()

    acts = [restart, restart_locked, kill, stop_and_go, stop_and_go, lock, lock, restart_bus]


class ServerHand(Hand):
    calm = (3, 10)

    def __init__(self, world, seed):
        super().__init__(world, seed)
        self.times = []

    def expire(self):
        "every access token expired at the server"
        asked = time.time()
        self.world.ask("POST", "/expire", {})
        self.times.append((asked, time.time()))

    acts = [expire]
