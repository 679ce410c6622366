"""A backend that answers what it should not, to some requests; all others are passed on."""

import http.client

from . import rest
from .unix_server import Handler, UnixServer

# Of one connection only, or made anew by whoever answers.
_HOP = {"connection", "transfer-encoding", "content-length", "keep-alive"}


class Meddler(UnixServer):
    """Listens on the unix socket `path` and passes HTTP requests on to the one of `upstream`.

    meddle: a function (method, path, body) that answers None, or what is said in the backend's
    place: (status, content type, body); then the backend never hears of it.
    """

    def __init__(self, path, upstream, meddle):
        meddler = self
        self.meddle = meddle

        class PassingOn(Handler):
            protocol_version = "HTTP/1.1"

            def __getattr__(self, name):
                if name.startswith("do_"):
                    return self.serve
                raise AttributeError(name)

            def serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                instead = meddler.meddle(self.command, self.path, body)
                if instead is None:
                    self.pass_on(body)
                else:
                    status, kind, text = instead
                    self.begin(status, {"Content-Type": kind, "Content-Length": str(len(text))})
                    self.wfile.write(text)

            def pass_on(self, body):
                wire = rest.UnixConnection(upstream, None)
                try:
                    wire.request(self.command, self.path, body=body or None,
                                 headers={**kept(self.headers), "Connection": "close"})
                    self.pass_back(wire.getresponse())
                except (OSError, http.client.HTTPException):
                    pass  # Either side has hung up, as a backend that is killed does.
                finally:
                    self.close_connection = True
                    wire.close()

            def pass_back(self, answer):
                """A line at a time, since a watch never ends."""
                self.begin(answer.status, {**kept(answer.headers), "Connection": "close"})
                while line := answer.readline():
                    self.wfile.write(line)

            def begin(self, status, headers):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()

        super().__init__(path, PassingOn)


def kept(headers):
    return {name: value for name, value in headers.items() if name.lower() not in _HOP}
