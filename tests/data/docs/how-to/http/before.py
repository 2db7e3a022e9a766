"""Servers on this machine that stand for those of the page."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from websockets.sync.server import serve

EVENTS = "event: news\ndata: first\n\ndata: done\n\n"


class Api(BaseHTTPRequestHandler):
    def do_GET(self):
        kind, body = "application/json", json.dumps({"id": self.path.rpartition("/")[2], "name": "Ada"})
        if self.path == "/feed":
            kind, body = "text/event-stream", EVENTS
        if self.path == "/slow":
            time.sleep(0.3)
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_):
        pass


def echo(connection):
    for message in connection:
        connection.send(message)


api = ThreadingHTTPServer(("127.0.0.1", 0), Api)
sockets = serve(echo, "127.0.0.1", 0)
for server in (api, sockets):
    threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{api.server_port}"
REPLACE = {
    "https://api.example.com": base,
    "https://slow.example.com": f"{base}/slow",
    "https://example.com/feed": f"{base}/feed",
    "wss://example.com/chat": f"ws://127.0.0.1:{sockets.socket.getsockname()[1]}",
    "(range 500)": "(range 20)",
    "(http/serve app {:port 8080})": "",
}


class Frame:
    """Stands for an application of FastAPI."""

    def mount(self, path, app):
        self.mounted = (path, app)


fastapi_app = Frame()
