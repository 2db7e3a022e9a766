import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from sema_runtime import ai
from sema_runtime.box import Pool, Unprotected

try:
    Pool(spare=0).close()
except Unprotected as problem:
    pytest.skip(problem.message)


class Shop(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"id": self.path.rpartition("/")[2]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", 0), Shop)
threading.Thread(target=server.serve_forever, daemon=True).start()
parameter = {"name": "order-id", "in": "path", "required": True, "schema": {"type": "string"}}
order = {"operationId": "getOrder", "parameters": [parameter], "responses": {"200": {"description": "an order"}}}
orders_of_all = {"operationId": "listOrders", "responses": {"200": {"description": "orders"}}}
document = {
    "openapi": "3.0.0",
    "info": {"title": "shop", "version": "1"},
    "servers": [{"url": f"http://127.0.0.1:{server.server_port}"}],
    "paths": {"/orders/{order-id}": {"get": order}, "/orders": {"get": orders_of_all}},
}
with open("shop.json", "w") as file:
    json.dump(document, file)

database = SimpleNamespace(search=lambda query, limit: [{"title": f"{query} {n}"} for n in range(limit)])
token = "secret"
program = '(tool/search {:query "tea"})'
rows = [{"amount": 40}, {"amount": 200}]
orders = [{"region": "north", "item": "tea", "amount": 3}]
REPLY = "```sema\n(return (:region (first data/orders)))\n```"
ai.configure("player", complete=lambda request: {"content": REPLY}, default_model="played")


def send(to: str) -> str:
    return to
