"""The authorization servers: how each is set up and started, and what it has."""

import http.client
import os
import pathlib
import secrets
import socket
import subprocess
import sys
import time

BIN = pathlib.Path(sys.executable).parent
HERE = pathlib.Path(__file__).parent


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """A server behind a proxy. Its clients are id and secret; no secret means a public client."""

    name = ""
    issuer_path = ""
    scope = "openid"
    protected = ""  # a path of its API that wants an access token
    account = ""  # the name that a session gets
    user, password = "ada", "correct-horse-4711-Ada"
    usual = "public"  # the client for most cases
    has = set()
    device_words = ()  # what a sign-in by device code needs further
    registration_words = ()
    registration_scope = None
    service_scope = None  # of client credentials, if it is another
    service_gets = True  # whether the API accepts their tokens
    unknown_scope = 4  # authctl's status; 0 if the server leaves it out, 130 for an error page
    wrong_secret = 14
    life = 4  # of access tokens, in seconds
    renews_alike = True  # whether a renewed token has the same life
    refresh_outlives = True  # whether a refresh token is good after its access token expired

    def __init__(self, folder, proxy):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.proxy = proxy
        self.port = free_port()
        self.redirect_port = free_port()
        proxy.upstream = self.port
        self.url = proxy.url
        self.issuer = proxy.url + self.issuer_path
        self.redirect = f"http://127.0.0.1:{self.redirect_port}/callback"
        self.process = None
        self.secret = "secret:" + secrets.token_hex(12) + "+%&"
        proxy.secrets |= {self.secret, self.password}

    def setup(self):
        """Creates users and clients."""

    def command(self, life):
        """The words that start the server with access tokens of `life` seconds, and variables."""
        raise NotImplementedError

    def start(self, life=None):
        self.life = life or type(self).life
        words, env = self.command(self.life)
        with open(self.folder / "log", "a") as log:
            self.process = subprocess.Popen(
                words, cwd=self.folder, env=dict(os.environ) | env, stdout=log, stderr=log)
        deadline = time.time() + 60
        while True:
            if self.process.poll() is not None or time.time() > deadline:
                text = (self.folder / "log").read_text()[-3000:]
                raise SystemExit(f"{self.name} does not start:\n{text}")
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                connection.request("GET", "/")
                connection.getresponse()
                return
            except OSError:
                time.sleep(0.1)

    def stop(self):
        if self.process:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process = None

    def restart(self, life=None):
        self.stop()
        self.start(life)

    def tool(self, *words, env=None):
        """Runs a program of the server's own."""
        run = subprocess.run(words, cwd=self.folder, env=dict(os.environ) | (env or {}),
                             capture_output=True, text=True)
        if run.returncode != 0:
            raise SystemExit(f"{self.name}: {words} failed:\n{run.stdout}{run.stderr}")
        return run.stdout


class Canaille(Server):
    name = "canaille"
    scope = "openid profile email"
    protected = "/oauth/userinfo"
    account = "ada@shop.example"
    # "unregister" is not in `has`: it answers 500 to DELETE of a registration.
    refresh_outlives = False
    life = 60
    unknown_scope = 0
    has = {"public", "known-clients", "page-password", "denial", "password", "client-credentials",
           "registration", "introspection", "revocation"}
    service_gets = False  # userinfo is about people

    def config(self, life):
        grants = ("authorization_code", "password", "client_credentials", "refresh_token")
        lives = "\n".join(f"{x} = {life}" for x in grants)
        (self.folder / "canaille.toml").write_text(f"""
            SECRET_KEY = "only-for-tests"
            SERVER_NAME = "127.0.0.1:{self.proxy.port}"
            PREFERRED_URL_SCHEME = "http"
            [CANAILLE]
            DATABASE = "sql"
            [CANAILLE_SQL]
            DATABASE_URI = "sqlite:///{self.folder}/canaille.sqlite"
            [CANAILLE_OIDC]
            DYNAMIC_CLIENT_REGISTRATION_OPEN = true
            TRUSTED_DOMAINS = []
            [OAUTH2_TOKEN_EXPIRES_IN]
            {lives}
            """)
        return {"CANAILLE_CONFIG": str(self.folder / "canaille.toml")}

    def setup(self):
        env = self.config(self.life)
        run = lambda *words: self.tool(str(BIN / "canaille"), *words, env=env)
        run("install")
        run("create", "user", "--user-name", self.user, "--password", self.password,
            "--given-name", "Ada", "--family-name", "Lovelace", "--formatted-name",
            "Ada Lovelace", "--emails", "ada@shop.example")
        self.clients = {}
        for kind, method, grants in (
            ("public", "none", ["authorization_code", "refresh_token"]),
            ("confidential", "client_secret_basic", ["authorization_code", "refresh_token"]),
            ("service", "client_secret_basic", ["client_credentials"]),
            ("password", "client_secret_basic", ["password", "refresh_token"]),
        ):
            words = ["create", "client", "--client-id", f"shop-{kind}", "--client-name", kind,
                     "--client-secret", self.secret, "--token-endpoint-auth-method", method,
                     "--redirect-uris", self.redirect, "--response-types", "code"]
            words += [word for x in grants for word in ("--grant-types", x)]
            words += [word for x in self.scope.split() for word in ("--scope", x)]
            run(*words)
            run("set", "client", f"shop-{kind}", "--audience", f"shop-{kind}")
            self.clients[kind] = (f"shop-{kind}", None if method == "none" else self.secret)

    def command(self, life):
        words = [str(BIN / "canaille"), "run", "--bind", f"127.0.0.1:{self.port}"]
        return words, self.config(life)


class DjangoOAuthToolkit(Server):
    name = "django-oauth-toolkit"
    issuer_path = "/o"
    scope = "openid read"
    protected = "/api/me"
    account = "1"
    # A client that it registers gets no key for ID tokens: with openid it answers 500.
    registration_scope = "read"
    registration_words = ("-u", "ada")
    has = {"public", "known-clients", "page-password", "denial", "password", "client-credentials",
           "device", "registration", "introspection", "revocation", "public-revocation",
           "unregister"}

    @property
    def device_words(self):
        # Its metadata do not name it.
        return ("--set", f"oauth.device_authorization_endpoint={self.issuer}/device-authorization/")

    def env(self, life):
        return {"OAUTH_FOLDER": str(self.folder), "OAUTH_LIFE": str(life), "OAUTH_URL": self.url,
                "DJANGO_SETTINGS_MODULE": "django_settings", "PYTHONPATH": str(HERE),
                "DJANGO_SUPERUSER_PASSWORD": self.password, "PYTHONDONTWRITEBYTECODE": "1"}

    def setup(self):
        self.tool("openssl", "genrsa", "-out", "oidc.pem", "2048")
        env = self.env(self.life)
        run = lambda *words: self.tool(sys.executable, "-m", "django", *words, env=env)
        run("migrate", "--verbosity", "0")
        run("createsuperuser", "--noinput", "--username", self.user, "--email",
            "ada@shop.example")
        self.clients = {}
        for kind, type, grant in (
            ("public", "public", "authorization-code"),
            ("confidential", "confidential", "authorization-code"),
            ("service", "confidential", "client-credentials"),
            ("password", "confidential", "password"),
            ("device", "public", "urn:ietf:params:oauth:grant-type:device_code"),
        ):
            run("createapplication", type, grant, "--name", kind, "--client-id", f"shop-{kind}",
                "--client-secret", self.secret, "--redirect-uris",
                "http://127.0.0.1/callback", "--algorithm", "RS256")
            self.clients[kind] = (f"shop-{kind}", None if type == "public" else self.secret)

    def command(self, life):
        words = [sys.executable, "-m", "django", "runserver", "--noreload",
                 f"127.0.0.1:{self.port}"]
        return words, self.env(life)


class OIDCProviderMock(Server):
    name = "oidc-provider-mock"
    scope = "openid profile email"
    protected = "/userinfo"
    account = "ada@shop.example"
    unknown_scope = 0
    renews_alike = False
    usual = "confidential"
    has = {"lost-state", "registration"}
    wrong_secret = 0  # any secret is right

    def setup(self):
        self.clients = {"confidential": ("shop-confidential", self.secret)}

    def command(self, life):
        words = [str(BIN / "oidc-provider-mock"), "--port", str(self.port), "--require-nonce",
                 "true", "--token-max-age", str(life), "--user-claims",
                 '{"sub":"ada","email":"ada@shop.example","name":"Ada Lovelace"}']
        return words, {}


def all_servers():
    return [Canaille, DjangoOAuthToolkit, OIDCProviderMock]
