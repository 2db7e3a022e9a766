"""The examples that ask a model, against a server on loopback: in a terminal, interrupted, killed, without a tape."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

from llm_support import Answer, Received, Server, chat_reply, serving
from paths import EXAMPLES
from terminal_support import Terminal, environment

KEYS = ("_API_KEY", "_HOST", "_BASE_URL")


def example(name: str, *arguments: str) -> list[str]:
    program = str(EXAMPLES / f"{name}.sema")
    return [sys.executable, "-m", "semac.cli.entry", program, *(["--", *arguments] if arguments else [])]


def with_keyboard(command: list[str]) -> list[str]:
    """The command with the terminal in which it runs as its controlling one, so that keys become signals."""
    start = "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
    return [sys.executable, "-c", start, *command]


def settings(server: Server, home: Path) -> dict[str, str]:
    """The environment in which a server on loopback is the only provider."""
    without_keys = {name: "" for name in os.environ if name.endswith(KEYS)}
    return {**without_keys, "OPENAI_API_KEY": "k", "OPENAI_BASE_URL": f"{server.url}/v1", "HOME": str(home)}


def run(
    command: list[str], server: Server, folder: Path, stdin: str = "", **more: str
) -> subprocess.CompletedProcess[str]:
    env = environment(**settings(server, folder), **more)
    return subprocess.run(command, cwd=folder, env=env, input=stdin, capture_output=True, text=True, timeout=60)


def last_text(received: Received) -> str:
    return str(received.body["messages"][-1]["content"])


def wait_until(so: Callable[[], bool]) -> None:
    for _ in range(2000):
        if so():
            return
        time.sleep(0.01)
    raise AssertionError("it did not happen")


def is_asleep(pid: int) -> bool:
    """Whether a process waits for something; always, where the system doesn't say."""
    state = Path(f"/proc/{pid}/stat")
    return not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "S"


# The chat

PIECE = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "gpt-5.5"}


def piece(text: str | None, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}
    return f"data: {json.dumps({**PIECE, 'choices': [choice]})}\n\n".encode()


def streamed(*texts: str) -> Answer:
    return Answer(pieces=[*(piece(text) for text in texts), piece(None, "stop"), b"data: [DONE]\n\n"])


def endless(gone: threading.Event) -> Answer:
    """Says something, then nothing more until the test is over."""

    def pieces() -> Iterator[bytes]:
        yield piece("Once upon a")
        gone.wait(20)

    return Answer(pieces=pieces())  # type: ignore[arg-type]


def test_chat_in_a_terminal(tmp_path: Path) -> None:
    """Ctrl-C stops a reply and the chat goes on, what was typed comes back with the arrow key, Ctrl-D ends."""
    gone = threading.Event()

    def answers(received: Received) -> Answer:
        if "story" in last_text(received):
            return endless(gone)
        return streamed("You said ", f"{len(received.body['messages'])} things.")

    command = with_keyboard(example("chat"))
    with serving(answers) as server, Terminal(command, **settings(server, tmp_path)) as terminal:
        terminal.until("> ")
        terminal.type(b"Hello\r")
        terminal.until("You said 1 things.\r\n> ")
        terminal.type(b"Tell me a story\r")
        terminal.until("Once upon a")
        terminal.type(b"\x03")
        terminal.until("[stopped]\r\n> ")
        terminal.type(b"Are you there?\r")
        terminal.until("You said 5 things.\r\n> ")
        terminal.type(b"half a line")
        terminal.until("half a line")
        wait_until(
            lambda: is_asleep(terminal.program.pid)
        )  # a signal that comes before readline waits is seen too late
        terminal.type(b"\x03")  # drops the line
        terminal.until("half a line\r\n> ")
        terminal.type(b"\x1b[A\r")  # the arrow brings the last one back
        terminal.until("You said 7 things.\r\n> ")
        terminal.type(b"\x04")
        assert terminal.end() == 0
        gone.set()
        stopped = server.received[2].body["messages"]
    assert [message["content"] for message in stopped[2:4]] == ["Tell me a story", "Once upon a"]
    assert [last_text(received) for received in server.received[2:]] == ["Are you there?"] * 2
    assert "Are you there?" in (tmp_path / ".sema-chat-history").read_text()


def test_chat_commands(tmp_path: Path) -> None:
    """A saved chat goes on in another process; marks, instructions and mistakes."""
    first = "/system Be brief.\nHello\n/fork here\nAgain\n/back here\n/save chat.json\n/cost\n/back nowhere\n/what\n"
    with serving(lambda r: streamed(f"{len(r.body['messages'])}")) as server:
        said = run(example("chat"), server, tmp_path, first)
        loaded = run(example("chat"), server, tmp_path, "/load chat.json\nAnd now?\n/load missing.json\n")
    assert said.stdout.splitlines()[:5] == [
        "2",
        "4",
        "saved 3 messages in chat.json",
        "1 replies, 0 tokens, $0.0000",
        "no mark nowhere",
    ]
    assert "/system TEXT" in said.stdout
    assert loaded.stdout.splitlines()[0] == "4"
    assert "missing.json: No such file" in loaded.stdout
    assert [message["role"] for message in server.received[2].body["messages"]] == [
        "system",
        "user",
        "assistant",
        "user",
    ]
    assert (said.returncode, said.stderr, loaded.returncode, loaded.stderr) == (0, "", 0, "")


def test_chat_survives_a_failing_provider(tmp_path: Path) -> None:
    """The question that got no answer is not part of the chat."""
    with serving(
        lambda r: Answer(401, {"error": {"message": "bad key"}}) if "first" in last_text(r) else streamed("fine")
    ) as server:
        done = run(example("chat"), server, tmp_path, "first\nsecond\n")
    assert done.stdout.startswith("[API error: 401 - bad key; ")
    assert done.stdout.splitlines()[1:] == ["fine"]
    assert len(server.received[1].body["messages"]) == 1


# The table

REVIEWS = "id,product,review\n" + "".join(f"{i},lamp,review {i}\n" for i in range(1, 41))
GOOD = chat_reply(json.dumps({"topic": "price", "mood": "good"}), prompt=100, completion=20)
IDS = [str(i) for i in range(1, 41)]


def ids_asked(server: Server) -> list[str]:
    return [last_text(received).split()[-1] for received in server.received]


def ids_written(table: Path) -> list[str]:
    return [line.split(",")[0] for line in table.read_text().splitlines()[1:]]


def test_table_goes_on_after_kill_9(tmp_path: Path) -> None:
    """What was known when the program was killed isn't asked again, and nothing is missing in the end."""
    (tmp_path / "in.csv").write_text(REVIEWS)
    command, killed = example("enrich", "in.csv", "out.csv"), threading.Event()
    journal, turns = tmp_path / "out.csv.done", count()

    def answers(_: Received) -> Answer:
        return Answer(body=GOOD, wait=killed if next(turns) >= 20 else None)

    with serving(answers) as server:
        program = subprocess.Popen(command, cwd=tmp_path, env=environment(**settings(server, tmp_path)), stderr=-3)
        wait_until(lambda: len(server.received) > 20 and len(journal.read_text().splitlines()) == 20)
        program.kill()
        program.wait()
        killed.set()
    assert not (tmp_path / "out.csv").exists()
    known = {json.loads(line)["id"] for line in journal.read_text().splitlines()}
    with journal.open("a") as file:
        file.write('{"id": "39", "prod')  # as if the power had failed
    with serving(Answer(body=GOOD)) as server:
        again = run(command, server, tmp_path)
        assert sorted(ids_asked(server), key=int) == [one for one in IDS if one not in known]
        assert again.stdout.splitlines()[-1] == "40 of 40 rows are done, 20 of them before."
        assert ids_written(tmp_path / "out.csv") == IDS
        once_more = run(command, server, tmp_path)
        assert len(server.received) == 20
    assert once_more.stdout.splitlines()[-1] == "40 of 40 rows are done, 40 of them before."


def test_table_stops_when_the_money_is_used_up(tmp_path: Path) -> None:
    """At 0.5 dollars: a row costs 0.0305 here. The rest waits for the next run."""
    (tmp_path / "in.csv").write_text(REVIEWS)
    dear = chat_reply(json.dumps({"topic": "price", "mood": "bad"}), prompt=100, completion=1_000)
    with serving(Answer(body=dear)) as server:
        done = run(example("enrich", "in.csv", "out.csv"), server, tmp_path)
        asked = len(server.received)
    assert done.returncode == 0
    assert done.stdout.splitlines()[-3:] == [
        "The limit is reached.",
        "Start again to go on.",
        f"{asked} of 40 rows are done, 0 of them before.",
    ]
    assert 14 <= asked <= 16
    assert len(ids_written(tmp_path / "out.csv")) == asked


def test_table_gives_up_when_nothing_works(tmp_path: Path) -> None:
    """Eight rows in a row: more of them would only cost time."""
    (tmp_path / "in.csv").write_text(REVIEWS)
    with serving(Answer(401, {"error": {"message": "bad key"}})) as server:
        done = run(example("enrich", "in.csv", "out.csv"), server, tmp_path)
        assert 8 <= len(server.received) <= 15
    assert done.returncode == 0
    *_, stopped, _, summary = done.stdout.splitlines()
    assert stopped.startswith("Nothing works: ")
    assert "OPENAI_API_KEY" in stopped
    assert summary == "0 of 40 rows are done, 0 of them before."


def test_table_shows_a_bar_in_a_terminal(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(REVIEWS)
    with (
        serving(Answer(body=GOOD)) as server,
        Terminal(
            example("enrich", str(tmp_path / "in.csv"), str(tmp_path / "out.csv")), **settings(server, tmp_path)
        ) as t,
    ):
        assert t.end() == 0
        assert "= ######################## 40/40, $0.0440, 0 failed" in t.shown()
    assert b"-- " in t.written


# The workflow over a folder

PAGES = {
    "first.md": "# One\n\nAll is said.",
    "second.md": "# Two\n\nNothing is said.",
    "third.md": "# Three\n\nEnough.",
}


def review_command(*more: str) -> list[str]:
    program = str(EXAMPLES / "review_docs.sema")
    args = json.dumps({"folder": "pages", "report": "report.md"})
    return [sys.executable, "-m", "semac.cli.entry", "workflow", "run", program, "--args", args, *more]


def review_reply(received: Received) -> Answer:
    """What the readers, the editor, the planner and the comparer say."""
    text = last_text(received)
    if "for the first time" not in text:
        return Answer(body=chat_reply(f"<{text.split()[0]}>"))
    clear = "# Two" not in text
    return Answer(body=chat_reply(json.dumps({"clear": clear, "problem": "" if clear else "It is empty."})))


def pages_in(folder: Path) -> None:
    (folder / "pages").mkdir()
    for name, text in PAGES.items():
        (folder / "pages" / name).write_text(text)


REVIEWED = "# Review\n\nFirst: <Which>\n\nContradictions: <Which>\n\n## second.md\n\nIt is empty.\n\n> <Write>"


def test_review_goes_on_where_it_was_killed(tmp_path: Path) -> None:
    """With both calls of the last phase under way: only these two are made again."""
    pages_in(tmp_path)
    judging, over = threading.Event(), threading.Event()
    asked: list[str] = []

    def answer(received: Received) -> Answer:
        asked.append(last_text(received).split("\n")[0])
        if not asked[-1].startswith("Which"):
            return review_reply(received)
        if len(asked) == 6:
            judging.set()
        reply = review_reply(received)
        return Answer(body=reply.body, wait=None if over.is_set() else over)

    with serving(answer) as server:
        env = environment(**settings(server, tmp_path))
        with subprocess.Popen(review_command("-q"), cwd=tmp_path, env=env) as first:
            assert judging.wait(60)
            first.kill()
        over.set()
        assert not (tmp_path / "report.md").exists()
        (folder,) = (tmp_path / ".sema" / "runs").iterdir()
        again = run(review_command("--resume", folder.name), server, tmp_path)
    assert again.returncode == 0, again.stderr
    assert again.stdout.startswith("3 pages reviewed, 1 with problems, 0 not answered.\n  second.md: It is empty.\n")
    assert (tmp_path / "report.md").read_text() == REVIEWED
    assert len(asked) == 8
    assert sorted(asked[4:6]) == sorted(asked[6:])
    result = json.loads((folder / "result.json").read_text())
    assert (result["status"], result["pages"], result["dropped"]) == ("success", 3, 0)


def test_review_asks_again_for_a_page_that_failed(tmp_path: Path) -> None:
    """The first run ends without that page; what is resumed asks for it, and for what depends on it."""
    pages_in(tmp_path)
    broken = [True]
    asked: list[str] = []

    def answer(received: Received) -> Answer:
        asked.append(last_text(received))
        return (
            Answer(400, {"error": {"message": "no"}}) if broken[0] and "# Two" in asked[-1] else review_reply(received)
        )

    with serving(answer) as server:
        first = run(review_command(), server, tmp_path)
        (folder,) = (tmp_path / ".sema" / "runs").iterdir()
        assert first.stdout.startswith("2 pages reviewed, 0 with problems, 1 not answered.\n")
        asked.clear()
        broken[0] = False
        again = run(review_command("--resume", folder.name), server, tmp_path)
    assert again.stdout.startswith("3 pages reviewed, 1 with problems, 0 not answered.\n")
    assert (tmp_path / "report.md").read_text() == REVIEWED
    assert [text.split()[0] for text in asked] == ["Review", "Write", "Which", "Which"]


def test_review_stops_at_its_budget(tmp_path: Path) -> None:
    pages_in(tmp_path)
    with serving(review_reply) as server:
        done = run(review_command("-q", "--budget-tokens", "12"), server, tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("Not finished: budget exceeded\n")
