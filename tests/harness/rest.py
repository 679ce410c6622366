"""Plain HTTP for tests: a connection for each request, over TLS, TCP or a unix socket."""

import dataclasses
import http.client
import json
import socket
import ssl
import threading
import urllib.parse


@dataclasses.dataclass
class Answer:
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")


class Client:
    """Talks to one server.

    url: https://host:port, http://host:port or unix:///path. `ca` is a PEM file, or None for the
    rare test that may not know the certificate (an operator port that signs its own). `certificate`:
    (file, key file) that say who we are.
    """

    def __init__(self, url, *, token=None, ca=None, certificate=None, timeout=30):
        self.url = url
        self.token = token
        self.timeout = timeout
        self._tls = None
        if url.startswith("https://"):
            self._tls = ssl.create_default_context(cafile=ca)
            if ca is None:
                self._tls.check_hostname = False
                self._tls.verify_mode = ssl.CERT_NONE
            if certificate:
                self._tls.load_cert_chain(*certificate)

    def request(self, method, path, *, body=None, query=None, headers=None, token=None):
        """The answer, whatever its status. `body`: bytes as they are, else encoded as JSON."""
        connection, _, response = self._send(method, path, body, query, headers, token)
        try:
            return Answer(response.status, response.headers, response.read())
        finally:
            connection.close()

    def stream(self, path, *, query=None, token=None):
        """A GET whose answer does not end: (status, Lines)."""
        connection, wire, response = self._send("GET", path, None, query, None, token)
        return response.status, Lines(connection, wire, response)

    def _send(self, method, path, body, query, headers, token):
        if query:
            path += "?" + urllib.parse.urlencode(query)
        headers = dict(headers or {})
        token = self.token if token is None else token
        if token:
            headers.setdefault("Authorization", f"Bearer {token}")
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
            headers.setdefault("Content-Type", "application/json")
        connection = self._connection()
        try:
            connection.request(method, path, body=body, headers=headers)
            wire = connection.sock  # An answer that says "close" takes it from the connection.
            return connection, wire, connection.getresponse()
        except BaseException:
            connection.close()
            raise

    def _connection(self):
        where = urllib.parse.urlsplit(self.url)
        if where.scheme == "unix":
            return UnixConnection(where.path, self.timeout)
        if where.scheme == "https":
            return http.client.HTTPSConnection(where.hostname, where.port, timeout=self.timeout,
                                               context=self._tls)
        return http.client.HTTPConnection(where.hostname, where.port, timeout=self.timeout)


class UnixConnection(http.client.HTTPConnection):
    """To a unix socket; a timeout of None waits for ever."""

    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Lines:
    """The JSON lines of a stream, collected by a thread as they come.

    `seen` only grows; `over` turns true when the stream has ended, by either side.
    """

    def __init__(self, connection, wire, response):
        self.seen = []
        self.over = False
        self._connection = connection
        self._response = response
        self._socket = wire
        self._socket.settimeout(None)
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        try:
            while line := self._response.readline():
                if line.strip():
                    self.seen.append(json.loads(line))
        except (OSError, ValueError, http.client.HTTPException, AttributeError):
            pass  # Cut off, by end() or by the server.
        self.over = True

    def end(self):
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._thread.join(10)
        self._connection.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
