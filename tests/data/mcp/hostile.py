"""A server over stdio that wants its client to grow, wait or crash: python hostile.py. Each tool does another."""

import json
import signal
import sys
import time

BEGINNING = '{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"'


def write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def send(message: object) -> None:
    write(json.dumps(message).encode() + b"\n")


def answer(number: int, text: str) -> None:
    send({"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": text}]}})


def raw(number: int, result: str) -> None:
    write(b'{"jsonrpc":"2.0","id":%d,"result":{"value":%b}}\n' % (number, result.encode()))


def call(name: str, number: int) -> None:
    if name == "notifications":
        flood = b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1}}\n' * 500
        while True:
            write(flood)
    elif name == "blank":
        while True:
            write(b"\n" * 100_000)
    elif name == "questions":  # never takes an answer
        question = 0
        while True:
            question += 1
            send({"jsonrpc": "2.0", "id": question, "method": "ping"})
    elif name == "line":
        write(b'{"jsonrpc":"2.0","id":1,"result":"')
        while True:
            write(b"x" * 1_000_000)
    elif name == "stderr":
        while True:
            sys.stderr.write("x" * 100_000)
    elif name == "trickle":
        for byte in (BEGINNING % number).encode() + b"y" * 10_000:
            write(bytes([byte]))
            time.sleep(0.01)
    elif name == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3600)
    elif name == "digits":
        raw(number, "7" * 1_000_000)
    elif name == "deep":
        raw(number, "[" * 100_000 + "]" * 100_000)
    elif name == "deeper":
        raw(number, "[" * 100_000)
    elif name == "bytes":
        write((BEGINNING % number).encode() + b'\xff\xed\xa0\x80"}]}}\n')
    elif name == "half":
        write((BEGINNING % number).encode() + b'\\ud83d"}]}}\n')
    elif name == "constants":
        raw(number, "[NaN, -Infinity, 1e400]")
    elif name == "twice":
        answer(number + 100, "other")
        answer(number, "first")
        answer(number, "second")
    elif name == "ids":
        for wrong in (str(number), float(number) + 0.5, [number], {}, True, None, -1):
            send({"jsonrpc": "2.0", "id": wrong, "result": {"content": [{"type": "text", "text": "wrong"}]}})
        answer(number, "right")
    elif name == "batch":
        send([{"jsonrpc": "2.0", "id": number, "result": {"content": [{"type": "text", "text": "batched"}]}}, 7, []])
    elif name == "error":
        send({"jsonrpc": "2.0", "id": number, "error": {"code": 1, "message": "e" * 1_000_000}})
    else:
        answer(number, name)


while line := sys.stdin.readline():
    message = json.loads(line)
    asked, number = message["method"], message.get("id")
    if asked == "initialize":
        about = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "hostile", "version": "1"}}
        send({"jsonrpc": "2.0", "id": number, "result": about})
    elif asked == "tools/list":
        cursor = str(number)
        send({"jsonrpc": "2.0", "id": number, "result": {"tools": [], "nextCursor": cursor}})
    elif asked == "tools/call":
        call(message["params"]["name"], number)
