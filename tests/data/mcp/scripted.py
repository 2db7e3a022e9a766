"""A server over stdio that misbehaves as it is told: python scripted.py [mute | exit | version | stubborn]."""

import json
import os
import signal
import sys
import threading
import time

MODE = sys.argv[1] if len(sys.argv) > 1 else ""
NAMES = ["echo", "texts", "image", "structured", "fail", "refuse", "noise", "ask", "hang", "seen", "turn"]
PAGES = [NAMES[:5], NAMES[5:9], NAMES[9:]]
seen = []
replies = {}
replied = threading.Condition()
turns = []
turned = threading.Condition()
writing = threading.Lock()
out = sys.stdout.buffer


def send(message):
    with writing:
        out.write(json.dumps(message).encode() + b"\n")
        out.flush()


def raw(data):
    with writing:
        out.write(data)
        out.flush()


def answer(number, result):
    send({"jsonrpc": "2.0", "id": number, "result": result})


def text(*texts, **more):
    return {"content": [{"type": "text", "text": one} for one in texts], **more}


def ask(number, method):
    send({"jsonrpc": "2.0", "id": number, "method": method, "params": {}})
    with replied:
        replied.wait_for(lambda: number in replies)
    found = replies[number]
    return found.get("result", found.get("error"))


def call(number, name, given):
    if name == "echo":
        answer(number, text(json.dumps(given, sort_keys=True)))
    elif name == "texts":
        image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
        answer(number, {"content": [{"type": "text", "text": "one"}, image, {"type": "text", "text": "two"}]})
    elif name == "image":
        answer(number, {"content": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]})
    elif name == "structured":
        answer(number, {"content": [], "structuredContent": {"celsius": 4.5, "tags": ["a", None]}})
    elif name == "fail":
        answer(number, text("disk full", isError=True))
    elif name == "refuse":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": -32602, "message": "no such argument"}})
    elif name == "noise":
        raw(b"Server is ready!\n\xff\xfe\n\n{\n")
        send({"jsonrpc": "2.0", "method": "notifications/unheard_of", "params": {"x": 1}})
        send({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        answer(987654, text("nobody asked"))
        raw(json.dumps([{"jsonrpc": "2.0", "method": "notifications/x"}]).encode() + b"\r\n")
        answer(number, text("heard"))
    elif name == "ask":
        answer(number, text(json.dumps([ask("a", "ping"), ask(7, "roots/list"), ask(8, "sampling/createMessage")])))
    elif name == "seen":
        answer(number, text(json.dumps(seen)))
    elif name == "turn":  # waits until so many others have been answered
        with turned:
            turned.wait_for(lambda: len(turns) == given["turn"])
            answer(number, text(str(given["turn"])))
            turns.append(number)
            turned.notify_all()
    elif name == "chatty":  # says something now and then, and answers late
        for _ in range(5):
            time.sleep(0.4)
            send({"jsonrpc": "2.0", "method": "notifications/message", "params": {}})
        answer(number, text("done"))
    elif name == "big":
        answer(number, text("x" * given["bytes"]))
    elif name == "size":
        answer(number, text(str(len(given["text"]))))
    elif name == "stderr":
        sys.stderr.write("chatter\n" * 100_000)
        sys.stderr.flush()
        answer(number, text("done"))
    elif name == "env":
        answer(number, text(str(os.environ.get(given["name"])), os.getcwd()))
    elif name == "pid":
        answer(number, text(str(os.getpid())))
    elif name == "die":
        sys.stderr.write(f"starting\nfatal: the database {os.environ.get('DEMO_SECRET', '')} is gone\n")
        sys.stderr.flush()
        os._exit(3)
    elif name == "nothing":
        send({"jsonrpc": "2.0", "id": number})
    elif name != "hang":
        answer(number, text(f"unknown tool {name}", isError=True))


def handle(message):
    method, number = message.get("method"), message.get("id")
    if method is None:
        with replied:
            replies[number] = message
            replied.notify_all()
    elif number is None:
        seen.append([method, message.get("params")])
    elif method == "initialize":
        seen.append(message["params"]["protocolVersion"])
        version = "1999-12-31" if MODE == "version" else "2025-11-25"
        info = {"name": "scripted", "version": "1"}
        answer(number, {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info})
    elif method == "tools/list":
        page = int((message.get("params") or {}).get("cursor", 0))
        tools = [{"name": name, "inputSchema": {"type": "object"}} for name in PAGES[page]]
        answer(number, {"tools": tools, **({"nextCursor": str(page + 1)} if page + 1 < len(PAGES) else {})})
    elif method == "tools/call":
        given = message["params"]
        threading.Thread(target=call, args=(number, given["name"], given["arguments"]), daemon=True).start()


if MODE == "exit":
    sys.stderr.write("usage: server --port N\n")
    sys.exit(2)
if MODE == "stubborn":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
for line in sys.stdin:
    if MODE != "mute":
        handle(json.loads(line))
while MODE == "stubborn":
    time.sleep(1)
