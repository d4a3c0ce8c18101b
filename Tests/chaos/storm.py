"""Many processes at a time, while the keyring comes and goes or processes are killed."""

import concurrent.futures
import random
import threading
import time

from hand import KeyringHand, ServerHand
from judge import Judge, Run
from people import CALM, CONFIGS, LONGEST, WEIGHTS, accounts, profiles
from world import PASSWORD, World

# So that processes renew tokens all the time. A renewal is due 3 s before the end, which is enough
# for the request after it.
API_OPTIONS = ["--token-ttl", "12"]

# Where nothing can be done to the store, this part of the processes is killed.
KILLED = 0.3


class Storm:
    def __init__(self, options, store):
        self.options = options
        self.store = store
        self.judge = Judge(store)
        self.accounts = accounts(min(5, options.processes // 4))
        self.over = threading.Event()

    def run(self, account, command, kill_at=None):
        world = self.world
        return Run(account, command, kill_at, *world.finish(
            [world.authctl] + account.words(command), world.environment(self.store),
            account.stdin(command), LONGEST, kill_at))

    def blow(self):
        """Runs it, prints its tables, and returns the problems."""
        seconds, seed = self.options.time, self.options.seed
        print(f"\n{self.store}, {seconds} s, {self.options.processes} processes, seed {seed}\n",
              flush=True)
        with World(self.options.authctl, self.options.demo_api, *API_OPTIONS) as self.world:
            before = self.prepare()
            hands = [ServerHand(self.world, seed)]
            if self.store == "secret-service":
                hands.append(KeyringHand(self.world, seed))
            workers = [threading.Thread(target=self.work, args=(number,), daemon=True)
                       for number in range(self.options.processes)]
            for thread in workers + hands:
                thread.start()
            time.sleep(seconds)
            self.over.set()
            # The keyring comes back while commands still wait for it.
            for hand in hands:
                hand.stop()
            for worker in workers:
                worker.join()
            self.afterwards(before, hands[0].times)
            renewals = self.renewals()
        self.show(hands, renewals)
        return self.judge.problems

    def prepare(self):
        """Signs everybody in; returns the files that there are then."""
        world = self.world
        if self.store == "secret-service":
            world.start_keyring()
        world.reset(profiles(world.url), CALM)
        self.for_each_account(self.sign_up)
        before = world.tree()
        world.write("config/authctl/config.toml", CONFIGS[self.store])
        return before

    def for_each_account(self, work):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            list(pool.map(work, self.accounts))

    def sign_up(self, account):
        self.world.ask("POST", "/register", {
            "email": account.name, "password": PASSWORD, "name": account.name})
        run = self.run(account, "login")
        if run.status != 0:
            raise RuntimeError(f"without any fault, {run}: {run.err}")

    def work(self, number):
        """One process after the other."""
        rng = random.Random(f"{self.options.seed}/{number}")
        again = None
        while not self.over.is_set():
            account, command = again or self.choice(rng)
            kills = self.store == "file" and rng.random() < KILLED
            run = self.run(account, command, rng.uniform(0, 0.5) if kills else None)
            self.judge.add(run)
            # Somebody who is signed out signs in.
            missing = run.status in (10, 11) and rng.random() < 0.7
            again = (account, "login") if missing else None

    def choice(self, rng):
        account = rng.choice(self.accounts)
        command, = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))
        return account, "get" if account.stays and command == "logout" else command

    def afterwards(self, before, expiries):
        self.world.write("config/authctl/config.toml", CALM)
        # The next renewal finds out that a session is lost.
        self.for_each_account(lambda account: self.judge.check_account(account, self))
        ended = self.world.ask("GET", "/ended")
        self.judge.check_families(ended)
        self.judge.check_refusals(ended, expiries)
        self.judge.check_files(self.world, before)

    def renewals(self):
        counts = self.world.requests()
        return counts.get("POST /refresh", 0), counts.get("POST /token", 0)

    def show(self, hands, renewals):
        judge = self.judge
        judge.show()
        for hand in hands:
            for what, count in sorted(hand.counts.items()):
                print(f"{count:8} times {what}")
        print(f"{renewals[0]:8} requests to /refresh, {renewals[1]} to /token")
        print(f"{judge.lost:8} sessions lost between the server's answer and the store; "
              f"{judge.warned} commands have said that theirs was not stored")
        for what, count in sorted(judge.refusals.items()):
            print(f"{count:8} commands ended with 11: {what}")
        for what, count in sorted(judge.accounts.items()):
            print(f"{count:8} accounts: {what}")
        print(f"{len(judge.problems):8} findings", flush=True)
        for problem in judge.problems[:50]:
            print(f"- {problem}")
