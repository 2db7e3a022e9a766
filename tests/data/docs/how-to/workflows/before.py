"""A server on this machine answers as Ollama does."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Model(BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = json.dumps({"ok": "print" in request["messages"][-1]["content"], "why": "It is short."})
        message = {"role": "assistant", "content": text}
        reply = {"model": request["model"], "message": message, "done": True, "prompt_eval_count": 30, "eval_count": 12}
        body = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
os.environ["OLLAMA_HOST"] = f"http://127.0.0.1:{server.server_port}"
REPLACE = {
    "sema workflow run": "SEMA_WORKFLOW_RUN_DIR=runs sema workflow run"
}  # apart from those of the other programs
