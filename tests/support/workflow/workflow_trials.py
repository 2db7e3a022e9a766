"""What `workflow_kills.py trials` kills: programs that ask a server in a process of its own, which notes what it bills.

The server answers each prompt with <prompt>. It refuses (400, not billed) a third of the requests whose prompt begins
with `flaky`, and all that begin with `dead`, and those beginning with `down` that don't come by the way of the second
provider. A request with tools is answered with a call of the first one, and with
text once the tool's result is there. Each answer is billed with 3 + 2 tokens, also when nobody waits for it any more.
"""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.request import urlopen

CALL_TOKENS = 5
HEAD = """
(llm/configure :openai {:api-key "sk-test" :base-url (env "TRIAL_SERVER") :default-model "trial"})
(llm/set-pricing "trial" 1.0 2.0)
(llm/configure :backup {:api-key "sk-test" :base-url (str (env "TRIAL_SERVER") "/backup") :default-model "trial"})
(llm/set-default :openai)
(define (shielded thunk) (llm/with-fallback [:openai :backup] thunk))
(deftool look "Looks something up" {:a {:type :number}} (fn (a) (+ a 1)))
(defagent helper {:system "You help." :tools [look] :model "trial"})
(define (patient thunk) (with-retry {:max 60 :base-ms 1 :factor 1} thunk))
(define (ask name text) (step (str name " " text) {:name name}))
"""
BUDGET = "{:budget {:usd 100 :scope :run}}"
PROGRAMS = {
    "retries": """
        (defworkflow trial "" META
          (phase "A")
          (define a (map (fn (n) (patient (fn () (ask "flaky" n)))) (range 3)))
          (define same (parallel (map (fn (n) (fn () (patient (fn () (step "flaky same"))))) (range 3))))
          (define raw (patient (fn () (workflow/step "flaky raw" (fn () (llm/complete "flaky raw"))))))
          (phase "B")
          {:status :success :a a :same same :raw raw :last (ask "last" 1)})""",
    "nested": """
        (define (inner n)
          (defworkflow inner "" {} (phase "I") (list (ask "inner" n) (patient (fn () (ask "flaky inner" n))))))
        (define (middle n) (defworkflow middle "" {} (list (:value (inner n)) (ask "middle" n))))
        (defworkflow trial "" META
          (define first (ask "first" 0))
          (define runs (parallel (map (fn (n) (fn () (:value (middle n)))) (range 2))))
          {:status :success :first first :runs runs :twice (list (:value (inner 7)) (:value (inner 8)))})""",
    "tools": """
        (defworkflow trial "" META
          (phase "A")
          (define texts (parallel (map (fn (n) (fn () (step (str "agent " n) {:agent helper}))) (range 3))))
          (define more (step "tools 1" {:name "tools" :tools [look]}))
          (define kept (checkpoint :kept (begin (phase "Inside") (list (ask "within" 1) (ask "within" 2)))))
          {:status :success :texts texts :more more :kept kept :again (ask "within" 1)})""",
    "deep": """
        (define (careful n) (try (ask "dead" n) (catch e (patient (fn () (ask "flaky instead of" n))))))
        (define (spread n) (parallel (list (fn () (careful n)) (fn () (ask "plain" n)) (fn () (ask "dead twin" n))) 2))
        (defworkflow trial "" META
          (phase "A")
          (define found (pipeline (range 3) spread (fn (xs) (patient (fn () (ask "flaky join" xs))))))
          (phase "B")
          {:status :success :found found :end (patient (fn () (ask "flaky end" (length found))))})""",
    "shrinking": """
        (define (work xs done)
          (if (null? xs) (reverse done)
            (let ((left (checkpoint :left xs)))
              (define answer (patient (fn () (ask "flaky item" (first left)))))
              (checkpoint (str "done-" (first left)) {:answer answer :left (length left)})
              (work (rest left) (cons (checkpoint (str "done-" (first left))) done)))))
        (defworkflow trial "" META {:status :success :done (work (checkpoint :all (range 5)) '())})""",
    "timeouts": """
        (define (hasty n) (try (async/timeout 1 (async (ask "slow" n))) (catch e nil)))
        (defworkflow trial "" META
          (hasty 1)
          (define a (ask "slow" 1))
          (define b (parallel-settled (list (fn () (ask "plain" 1)) (fn () (error "no")) (fn () (ask "plain" 1)))))
          {:status :success :a a :b (map :ok b)})""",
    "branches": """
        (define (inner n)
          (defworkflow inner "" {}
            (phase "I")
            (list (ask "flaky bare" n) (shielded (fn () (ask "down" n)))
                  (patient (fn () (shielded (fn () (ask "flaky deep" n))))))))
        (define (whole n)
          (patient (fn () (let ((ended (inner n))) (if (= (:status ended) :success) (:value ended) (error "again"))))))
        (defworkflow trial "" META
          (define rows (pipeline (range 3) whole
            (fn (texts) (shielded (fn () (ask "down join" (length texts)))))
            (fn (text) (patient (fn () (ask "flaky last" text))))))
          {:status :success :rows rows})""",
    "emptied": """
        (define (left) (filter (fn (n) (not (file/exists? (str "done-" n)))) (range 5)))
        (define (work n)
          (define text (patient (fn () (step (str "flaky agent " n) {:agent helper}))))
          (checkpoint (str "filed-" n) (begin (file/write (str "done-" n) text) n)))
        (define (rounds)
          (let ((items (left)))
            (unless (null? items)
              (parallel (map (fn (n) (fn () (work n))) (take 2 items)))
              (rounds))))
        (defworkflow trial "" META
          (rounds)
          {:status :success :left (left) :texts (map (fn (n) (file/read (str "done-" n))) (range 5))})""",
    "second time": """
        (define tried '())
        (define (fail-once name)
          (unless (member name tried) (set! tried (cons name tried)) (error "the first time")))
        (define (stubborn name thunk)
          (patient (fn () (checkpoint name (let ((value (thunk))) (fail-once name) value)))))
        (defworkflow trial "" META
          (phase "A")
          (define one (stubborn "one" (fn () (list (ask "in" 1) (patient (fn () (ask "flaky in" 2)))))))
          (define many (parallel (map (fn (n) (fn () (stubborn (str "p" n) (fn () (ask "side" n))))) (range 3))))
          (phase "B")
          (define deep (checkpoint :outer (stubborn "inner" (fn () (list (ask "deep" 1) (ask "in" 1))))))
          (define both (patient (fn () (workflow/step "both" (fn () (ask "inside" 1) (fail-once "both")
            (llm/complete "both"))))))
          {:status :success :one one :many many :deep deep :both both :kept (checkpoint "p1")})""",
}


class Bill:
    """What was billed, by prompts."""

    def __init__(self, seed: int) -> None:
        self.calls: Counter[str] = Counter()
        self.dice = random.Random(seed)
        self.lock = threading.Lock()

    def reply(self, body: dict[str, Any], path: str) -> tuple[int, dict[str, Any]]:
        messages = body["messages"]
        prompt = next(one["content"] for one in messages if one["role"] == "user")
        with self.lock:
            lost = prompt.startswith("flaky") and self.dice.random() < 1 / 3
            dead = prompt.startswith("dead") or (prompt.startswith("down") and "backup" not in path)
            if lost or dead:
                return 400, {"error": {"message": "not this time", "type": "invalid_request_error"}}
            self.calls[prompt] += 1
            pause = self.dice.uniform(0.001, 0.008)
        time.sleep(pause)
        message: dict[str, Any] = {"role": "assistant", "content": f"<{prompt}>"}
        if body.get("tools") and messages[-1]["role"] != "tool":
            name = body["tools"][0]["function"]["name"]
            call = {"id": "c1", "type": "function", "function": {"name": name, "arguments": '{"a": 1}'}}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        reason = "tool_calls" if "tool_calls" in message else "stop"
        used = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": CALL_TOKENS}
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return 200, {"id": "1", "object": "chat.completion", "model": "trial", "choices": [choice], "usage": used}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # headers and body in one packet
    bill: Bill

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(*self.bill.reply(body, self.path))

    def do_GET(self) -> None:
        """/fresh begins a new bill; /bill gives it."""
        with self.bill.lock:
            if self.path == "/fresh":
                self.bill.calls.clear()
            self._answer(200, dict(self.bill.calls))

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except OSError:  # the client was killed
            self.close_connection = True

    def handle(self) -> None:
        try:
            super().handle()
        except OSError:
            return

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


class Server:
    """The server, in a process of its own, until `stop`."""

    def __init__(self, seed: int) -> None:
        self.process = subprocess.Popen([sys.executable, __file__, str(seed)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().strip()

    def fresh(self) -> None:
        urlopen(f"{self.url}/fresh", timeout=30).close()

    def billed(self) -> Counter[str]:
        with urlopen(f"{self.url}/bill", timeout=30) as answer:
            return Counter(json.loads(answer.read()))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


class Books:
    """What the journals and memo logs of a folder of runs say, by prompts. ended: leaves that ended well. charged:
    calls of all leaves. presumed: leaves that were under way when a process died. dropped: leaves that ended otherwise
    than by an answer of the server. logged: leaves that are kept."""

    def __init__(self, root: Path) -> None:
        self.ended: Counter[str] = Counter()
        self.charged: Counter[str] = Counter()
        self.presumed: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()
        self.logged: Counter[str] = Counter()
        self.tokens = 0
        for run in sorted(root.iterdir()) if root.exists() else ():
            if run.is_dir():
                self._read(run)

    def _read(self, run: Path) -> None:
        prompts: dict[tuple[int, str], str] = {}
        files = ["events.jsonl", *(f"events.resume-{n}.jsonl" for n in range(1, len(list(run.iterdir()))))]
        for segment, file in enumerate(run / name for name in files):
            if not file.exists():
                break
            data = file.read_bytes()
            for event in map(json.loads, data[: data.rfind(b"\n") + 1].splitlines()):
                self._take(event, segment, prompts)
        log = run / "memo.jsonl"
        kept = {}
        for line in log.read_bytes().splitlines(keepends=True) if log.exists() else ():
            fields = json.loads(line) if line.endswith(b"}\n") else {}
            place = fields.get("segment"), fields.get("agent_id")
            if place in prompts:
                kept[fields["key"]] = prompts[place]
        self.logged.update(kept.values())

    def _take(self, event: dict[str, Any], segment: int, prompts: dict[tuple[int, str], str]) -> None:
        name, place = event["event"], (segment, str(event.get("agent_id")))
        if name == "agent.started":
            prompts[place] = event.get("prompt") or event["agent_name"]
        elif name == "agent.result" and event["status"] == "ok":
            self.ended[prompts[place]] += 1
        elif name == "agent.result" and "not this time" not in event["output"]:
            self.dropped[prompts[place]] += 1
        elif name == "budget":
            tokens = event["input_tokens"] + event["output_tokens"]
            self.tokens += tokens
            self.charged[prompts[place]] += tokens // CALL_TOKENS
        elif name == "agent.presumed":
            self.presumed[prompts[event["segment"], event["agent"]]] += 1


def main(seed: int) -> None:
    Handler.bill = Bill(seed)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main(int(sys.argv[1]))
