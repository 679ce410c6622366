"""HTTP served by a test itself, on a unix socket."""

import http.server
import socketserver
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """Says nothing about what it serves."""

    def log_message(self, *_):
        pass


class UnixServer:
    """Serves from now on, each connection in a thread with a Handler of this class."""

    def __init__(self, path, handler):
        self._server = _Server(path, handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def end(self):
        self._server.shutdown()
        self._server.server_close()


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128  # As a backend's. Beyond it a unix socket refuses: five are soon there.

    def get_request(self):
        request, _ = super().get_request()
        return request, ("unix", 0)

    def handle_error(self, *_):
        pass  # A client that hangs up on nonsense is right.
