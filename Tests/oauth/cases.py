"""What is tried at each server. A case gets a fresh home folder."""

import base64
import concurrent.futures
import http.client
import json
import time
import urllib.parse

CASES = []


def case(name, *needs):
    """Registers a case, for servers that have everything in `needs`."""
    def register(function):
        CASES.append((name, set(needs), function))
        return function
    return register


class Case:
    """One case at one server: runs authctl there, and notes what was seen."""

    def __init__(self, server, box, name, report):
        self.server, self.box, self.name, self.report = server, box, name, report
        self.wire = server.proxy
        self.start = len(self.wire.exchanges)

    def check(self, what, is_right, *seen):
        self.report(self.server.name, self.name, what, bool(is_right), [str(x) for x in seen])
        return bool(is_right)

    @property
    def exchanges(self):
        return self.wire.exchanges[self.start:]

    def grants(self, kind):
        return self.wire.grants(kind, self.start)

    def words(self, kind, grant, *more, scope=None):
        server = self.server
        words = ["login", server.url, "-p", "shop", "--issuer", server.issuer, "--scope",
                 scope or server.scope, "--grant", grant]
        if kind:
            words += ["--client-id", server.clients[kind][0]]
            if grant == "authorization-code":
                words += ["--set", f"oauth.redirect_port={server.redirect_port}"]
        return words + list(more)

    def login(self, kind, grant="authorization-code", *more, answer="accept", password=None,
              scope=None, stdin="", secret=None, seconds=90):
        """Signs in with the client of that kind; the browser answers as told."""
        server = self.server
        secret = secret or (server.clients[kind][1] if kind else None)
        env = {"AUTHCTL_CLIENT_SECRET": secret} if secret else {}
        person = (server.user, password or server.password, answer)
        return self.box.run(*self.words(kind, grant, *more, scope=scope), stdin=stdin,
                            browser=person, seconds=seconds, **env)

    def get(self):
        return self.box.run("get", self.server.protected)

    def signed_in(self, run, account=None):
        account = account or self.server.account
        return self.check("signs in", run.status == 0
                          and f"Signed in to shop as {account}." in run.err, run)

    def api_status(self, token):
        """What the API answers to a token, asked past authctl."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=30)
        host = f"127.0.0.1:{self.wire.port}"
        connection.request("GET", self.server.protected,
                           headers={"Authorization": f"Bearer {token}", "Host": host})
        return connection.getresponse().status

    def expire(self):
        time.sleep(self.server.life + 1)


def use(case, has_id_token=True):
    """The commands with a session."""
    box, server = case.box, case.server
    get = case.get()
    case.check("get", get.status == 0 and get.err == "", get)
    if has_id_token:
        who = box.run("whoami")
        case.check("whoami", (who.status, who.out) == (0, server.account + "\n"), who)
        count = len(case.wire.exchanges)
        offline = box.run("whoami", "--offline", "--json")
        case.check("whoami --offline", offline.status == 0
                   and json.loads(offline.out)["source"] == "store"
                   and len(case.wire.exchanges) == count, offline)
        id_token = box.run("token", "--id-token")
        case.check("token --id-token", id_token.status == 0 and id_token.out.count(".") == 2,
                   id_token)
    status = box.run("status", "--json")
    case.check("status", status.status == 0, status)


def renew(case, grant="refresh_token"):
    """Renewal of an expired token, and by command."""
    before = len(case.grants(grant))
    if grant == "refresh_token" and not case.server.refresh_outlives:
        time.sleep(1.1)  # canaille cannot issue two tokens to an account within a second.
        refresh = case.box.run("refresh")
        case.check("refresh", refresh.status == 0 and len(case.grants(grant)) == before + 1,
                   refresh, *case.grants(grant))
        return
    case.expire()
    get = case.get()
    case.check("get renews after expiry", get.status == 0 and get.err == ""
               and len(case.grants(grant)) == before + 1, get, *case.grants(grant))
    if case.server.renews_alike:
        case.expire()
        get = case.get()
        case.check("a second renewal (rotated token)", get.status == 0
                   and len(case.grants(grant)) == before + 2, get, *case.grants(grant))
    refresh = case.box.run("refresh")
    case.check("refresh", refresh.status == 0, refresh)


def introspect(case):
    case.box.run("refresh")  # A token of 4 s may end on its way to a slow server.
    run = case.box.run("token", "--introspect")
    case.check("token --introspect", run.status == 0 and json.loads(run.out)["active"] is True, run)


def sign_out(case, revokes):
    """Logout; the tokens that the session had are refused afterwards."""
    token = case.box.run("token").out.strip()
    case.check("the token is good before logout", case.api_status(token) == 200)
    out = case.box.run("logout", "-v")
    if revokes:
        case.check("logout revokes", out.status == 0 and "at the server and" in out.err, out)
        status = case.api_status(token)
        case.check("the token is refused afterwards", status in (401, 403), status)
    else:
        case.check("logout says that the server keeps it", out.status == 0
                   and "on this machine only" in out.err, out)
    get = case.get()
    case.check("get has no session", get.status == 10, get)


@case("denied consent", "denial")
def denied(case):
    run = case.login(case.server.usual, answer="deny")
    case.check("14, and says so", run.status == 14
               and "the sign-in was denied in the browser" in run.err, run, case.box.last_page())


@case("denied consent, by a server that loses the state", "lost-state")
def denied_without_state(case):
    run = case.login(case.server.usual, answer="deny", seconds=20)
    case.check("says so, and waits until Ctrl-C", run.status == -2
               and "does not say for which sign-in" in run.err, run)


@case("authorization code, public client", "public")
def public(case):
    if case.signed_in(case.login("public")):
        use(case)
        renew(case)
        sign_out(case, revokes="public-revocation" in case.server.has)


@case("authorization code, client secret")
def confidential(case):
    if case.signed_in(case.login("confidential")):
        use(case)
        if "introspection" in case.server.has:
            introspect(case)
        renew(case)
        sign_out(case, revokes="revocation" in case.server.has)


@case("50 processes")
def fifty(case):
    server = case.server
    # The new token must outlive 50 processes on a slow machine.
    server.restart(life=max(30, server.life))
    if not case.signed_in(case.login(server.usual)):
        return
    if server.refresh_outlives:
        case.expire()
    else:
        time.sleep(server.life * 0.77)  # It is renewed when a quarter of its life is left.
    with concurrent.futures.ThreadPoolExecutor(50) as pool:
        runs = list(pool.map(lambda _: case.get(), range(50)))
    bad = [x for x in runs if x.status != 0]
    refreshes = case.grants("refresh_token")
    case.check("all 50 get an answer", not bad, len(bad), *bad[:3])
    case.check("one refresh", len(refreshes) == 1, *refreshes)
    server.restart()


@case("device code", "device")
def device(case):
    for answer in ("accept", "deny"):
        words = case.words("device", "device-code", "--no-browser", *case.server.device_words)
        process = case.box.start(*words)
        shown = ""
        while "and enter" not in shown:
            line = process.stderr.readline()
            if not line:
                break
            shown += line
        lines = shown.splitlines()
        code = next((x.split()[2] for x in lines if x.startswith("and enter")), "")
        page = next((x.strip() for x in lines if x.startswith("  http")), "")
        if page:
            case.box.visit(page, case.server.user, case.server.password, answer, code)
        run = case.box.finish(words, process)
        run.err = shown + run.err
        if answer == "accept":
            if case.signed_in(run):
                get = case.get()
                case.check("get", get.status == 0, get)
                renew(case)
                case.box.run("logout")
        else:
            case.check("denied on the page: 14", run.status == 14 and "denied" in run.err, run)


@case("client credentials", "client-credentials")
def service(case):
    scope = case.server.service_scope
    run = case.login("service", "client-credentials", "--no-input", scope=scope)
    if case.signed_in(run, case.server.clients["service"][0]):
        if case.server.service_gets:
            get = case.get()
            case.check("get", get.status == 0, get)
            renew(case, "client_credentials")
        if "introspection" in case.server.has:
            introspect(case)
    wrong = case.login("service", "client-credentials", "--no-input", "--yes", scope=scope,
                       secret="wrong-secret-0815")
    case.check("wrong client secret: 14", wrong.status == 14 and "invalid_client" in wrong.err,
               wrong)


@case("password", "password")
def password(case):
    server = case.server
    env = {"AUTHCTL_CLIENT_SECRET": server.clients["password"][1]}
    words = case.words("password", "password", "-u", server.user, "--password-stdin")
    wrong = case.box.run(*words, stdin="wrong-password-0815\n", **env)
    case.wire.secrets.add("wrong-password-0815")
    case.check("wrong password: 14", wrong.status == 14, wrong)
    run = case.box.run(*words, stdin=server.password + "\n", **env)
    if case.signed_in(run, server.user):
        get = case.get()
        case.check("get", get.status == 0, get)
        renew(case)


@case("registration", "registration")
def registration(case):
    words = ["--yes", *case.server.registration_words]
    scope = case.server.registration_scope
    run = case.login(None, "authorization-code", *words, scope=scope)
    if case.signed_in(run, "ada" if "-u" in words else None):
        use(case, has_id_token="-u" not in words)
        renew(case)
        again = case.login(None, "authorization-code", *words, scope=scope)
        sent = [x for x in case.exchanges if "registration_access_token" in str(x.answer)
                or x.method == "POST" and "client_name" in str(x.answer)]
        case.check("signs in again with the same client", again.status == 0 and len(sent) <= 1,
                   again, *sent)
        words = ["logout"] + (["--unregister"] if "unregister" in case.server.has else [])
        out = case.box.run(*words, "-v")
        deleted = [x for x in case.exchanges if x.method == "DELETE"]
        case.check(" ".join(words), out.status == 0
                   and ("unregister" not in case.server.has or deleted
                        and deleted[0].status in (200, 204)), out, *deleted)


@case("pasted address")
def pasted(case):
    server = case.server
    for kind in ("right", "another code"):
        words = case.words(server.usual, "authorization-code", "--no-browser")
        secret = server.clients[server.usual][1]
        env = {"AUTHCTL_CLIENT_SECRET": secret} if secret else {}
        with case.box.terminal(*words, **env) as terminal:
            terminal.wait_for("even if the page fails to load")
            terminal.wait_for(">")
            url = next(x.strip() for x in terminal.screen.splitlines()
                       if x.startswith("  http"))
            # No browser can reach the listener of another machine: nothing listens there.
            address = case.box.visit(url, server.user, server.password)
            if kind != "right":
                code = urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["code"][0]
                address = address.replace(code, code[::-1])
            terminal.type(address + "\n")
            run = terminal.finish()
        # A terminal shows what is typed there.
        case.box.runs.remove(run)
        if kind == "right":
            case.check("signs in", run.status == 0 and "Signed in to shop" in run.out, run)
        else:
            case.check("a code that the server does not know: 14", run.status == 14
                       and "invalid_grant" in run.out, run)


@case("wrong password in the browser", "page-password")
def wrong_password(case):
    run = case.login(case.server.usual, password="wrong-password-0816", seconds=30)
    case.check("waits until Ctrl-C", run.status == -2, run, case.box.last_page())


@case("unknown scope")
def unknown_scope(case):
    run = case.login(case.server.usual, scope=case.server.scope + " no-such-scope", seconds=30)
    page = case.box.last_page()
    expected = case.server.unknown_scope
    case.check(f"status {expected}", run.status == expected, run, page)


@case("wrong client secret")
def wrong_secret(case):
    run = case.login("confidential", secret="wrong-secret-0815", seconds=60)
    expected = case.server.wrong_secret
    case.check(f"status {expected}", run.status == expected, run, *case.grants(
        "authorization_code"))


@case("unknown client", "known-clients")
def unknown_client(case):
    server = case.server
    case.server.clients["nobody"] = ("no-such-client", None)
    run = case.login("nobody", seconds=25)
    case.check("an error page, until Ctrl-C; or 14",
               run.status in (-2, 14), run,
               case.box.last_page())


@case("revoked refresh token", "revocation")
def revoked(case):
    if not case.signed_in(case.login("confidential")):
        return
    token = case.grants("authorization_code")[-1].answer["refresh_token"]
    client, secret = case.server.clients["confidential"]
    connection = http.client.HTTPConnection("127.0.0.1", case.wire.port, timeout=30)
    form = urllib.parse.urlencode({"token": token, "token_type_hint": "refresh_token"})
    quote = urllib.parse.quote_plus
    basic = base64.b64encode(f"{quote(client)}:{quote(secret)}".encode()).decode()
    endpoint = next(x.answer["revocation_endpoint"] for x in case.exchanges
                    if isinstance(x.answer, dict) and "revocation_endpoint" in x.answer)
    connection.request("POST", urllib.parse.urlsplit(endpoint).path, form, {
        "Content-Type": "application/x-www-form-urlencoded", "Authorization": "Basic " + basic})
    status = connection.getresponse().status
    case.check("the server revokes it", status == 200, status)
    if case.server.refresh_outlives:
        case.expire()
        run = case.get()
    else:
        run = case.box.run("refresh")
    case.check("11, and how to sign in", run.status == 11 and "authctl login" in run.err, run,
               *case.grants("refresh_token"))

