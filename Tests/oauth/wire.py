"""A proxy in front of a server: it records what is sent, and the secrets in it."""

import dataclasses
import http.client
import http.server
import json
import re
import threading
import urllib.parse

# What must not occur in authctl's output, if it is a member of an answer or a field of a form.
SECRET_NAMES = (
    "access_token", "refresh_token", "id_token", "device_code", "client_secret", "code",
    "code_verifier", "password", "registration_access_token", "assertion", "client_assertion",
)
HOP_BY_HOP = ("connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade")


@dataclasses.dataclass
class Exchange:
    method: str
    path: str
    query: dict
    headers: dict
    form: dict
    status: int
    location: str
    answer: object  # JSON, or text

    def __str__(self):
        text = f"{self.method} {self.path} {self.query or ''} {self.form or ''} -> {self.status}"
        shown = json.dumps(self.answer) if isinstance(self.answer, (dict, list)) else ""
        return f"{text} {self.location or ''} {shown}"


class Proxy(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.port = self.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.upstream = None
        self.exchanges = []
        self.secrets = set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def record(self, exchange):
        self.exchanges.append(exchange)
        for values in (exchange.form, exchange.answer):
            if isinstance(values, dict):
                for name, value in values.items():
                    # A code that a person types is short, and is no secret of the client.
                    if name in SECRET_NAMES and isinstance(value, str) and len(value) >= 8:
                        self.secrets.add(value)

    def grants(self, kind, since=0):
        """The token requests of a grant type."""
        return [x for x in self.exchanges[since:] if x.form.get("grant_type") == kind]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def forward(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in HOP_BY_HOP}
        headers["Content-Length"] = str(length)
        headers["Connection"] = "close"
        headers.pop("Accept-Encoding", None)
        try:
            server = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=60)
            server.request(self.command, self.path, body, headers)
            answer = server.getresponse()
            data = answer.read()
        except OSError as error:
            self.send_error(502, str(error))
            return
        self.remember(body, answer, data)
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in HOP_BY_HOP:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def remember(self, body, answer, data):
        target = urllib.parse.urlsplit(self.path)
        form = {}
        if "form-urlencoded" in (self.headers.get("Content-Type") or ""):
            form = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
        text = data.decode(errors="replace")
        try:
            content = json.loads(text)
        except ValueError:
            content = re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", text))[:2000]
        self.server.record(Exchange(
            self.command, target.path, dict(urllib.parse.parse_qsl(target.query)),
            {k.lower(): v for k, v in self.headers.items()}, form, answer.status,
            answer.getheader("Location"), content))

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = do_OPTIONS = forward
