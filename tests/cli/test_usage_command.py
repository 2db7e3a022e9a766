"""`sema usage`: sums over the ledger."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, chat_reply, run, serving
from llm_support import llm as llm

from semac.cli import usage_sums
from semac.cli.main import main
from semac.cli.usage_sums import end_of, start_of

NOON = datetime(2026, 11, 21, 12).timestamp()
LINE = {
    "at": NOON, "script": "/w/a.sema", "operation": "chat", "provider": "openai", "model": "m1", "prompt_tokens": 100,
    "completion_tokens": 10, "cache_read_tokens": 5, "cache_creation_tokens": 0, "cost_usd": 0.5, "cached": False,
    "replayed": False, "attempts": 1, "error": None,
}  # fmt: skip


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The file of November 2026 in a new home; the clock says 21 November, noon."""
    monkeypatch.setenv("SEMA_HOME", str(tmp_path))
    monkeypatch.delenv("SEMA_USAGE", raising=False)
    monkeypatch.setattr(time, "time", lambda: NOON + 1)
    (tmp_path / "usage").mkdir()
    return tmp_path / "usage" / "2026-11.jsonl"


def lines(*changes: dict[str, Any]) -> str:
    return "".join(json.dumps({**LINE, **change}) + "\n" for change in changes)


def usage(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["usage", *arguments]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def report(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(usage(capsys, "--json", *arguments))
    return found


def test_the_sums(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.write_text(
        lines(
            {},
            {"cost_usd": 1},
            {"model": "local", "cost_usd": None, "prompt_tokens": 1234567},
            {"model": "local", "cost_usd": None, "error": "ProviderError", "prompt_tokens": 0, "completion_tokens": 0},
            {"model": "m1", "replayed": True},
            {"model": "m1", "cached": True, "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0},
            {"model": "broke", "cost_usd": 0.25, "error": "ProviderError", "estimated": True},
        )
        + "\n"
    )
    assert (
        usage(capsys)
        == f"""\
Usage since 2026-10-22 12:00

model  calls  failed       sent  received     cost  unpriced
m1         2       0        200        20  $1.5000
broke      1       1        100        10  $0.2500
local      2       1  1,234,567        10        ?         1
total      5       2  1,234,867        40  $1.7500         1

The price of 1 call is unknown and not in the cost (llm/set-pricing sets one).
The tokens of 1 call are estimated: streams that broke before they were told.
Not counted: 1 call replayed from cassettes.
Not counted: 1 call answered by the response cache.
The ledger is {ledger.parent}; SEMA_USAGE=off switches it off.
"""
    )
    found = report(capsys)
    assert [(row["model"], row["cost_usd"]) for row in found["rows"]] == [("m1", 1.5), ("broke", 0.25), ("local", None)]
    assert found["rows"][0] == {
        "model": "m1", "calls": 2, "failed": 0, "prompt_tokens": 200, "completion_tokens": 20, "cache_read_tokens": 10,
        "cache_creation_tokens": 0, "cost_usd": 1.5, "unpriced_calls": 0, "cached_calls": 1, "replayed_calls": 1,
        "estimated_calls": 0,
    }  # fmt: skip
    assert found["total"]["cost_usd"] == 1.75 and found["until"] is None


def test_groups(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.write_text(
        lines({}, {"script": "/w/b.sema", "cost_usd": 2}, {"at": NOON - 86400, "provider": "groq"}, {"model": "m2"})
    )

    def rows(*by: str) -> list[tuple[Any, ...]]:
        found = report(capsys, *(f"--by={one}" for one in by))
        return [(*(row[name] for name in found["by"]), row["calls"]) for row in found["rows"]]

    assert rows("model") == [("m1", 3), ("m2", 1)]
    assert rows("script") == [("/w/b.sema", 1), ("/w/a.sema", 3)]
    assert rows("day") == [("2026-11-20", 1), ("2026-11-21", 3)]
    assert rows("provider,day", "day") == [("groq", "2026-11-20", 1), ("openai", "2026-11-21", 3)]
    assert rows("operation") == [("chat", 4)]
    assert "day         model  calls" in usage(capsys, "--by", "day, model")


def test_scripts_are_shown_as_people_call_them(
    ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/me")
    names = (f"{tmp_path}/x.sema", "/home/me/y.sema", "/z.sema", "sema", "\x1b[31m", "")
    ledger.write_text(lines(*({"script": name} for name in names)))
    shown = [line.split()[0] for line in usage(capsys, "--by", "script").splitlines()[3:9]]
    assert sorted(shown) == sorted(["x.sema", "~/y.sema", "/z.sema", "sema", "\\x1b[31m", "(none)"])


def test_csv(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.write_text(lines({"model": 'odd, "one"'}, {"model": "local", "cost_usd": None}))
    rows = list(csv.DictReader(io.StringIO(usage(capsys, "--csv"))))
    assert [(row["model"], row["cost_usd"], row["unpriced_calls"]) for row in rows] == [
        ('odd, "one"', "0.5", "0"),
        ("local", "", "1"),
    ]


def test_times(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (ledger.parent / "2026-09.jsonl").write_text(lines({"at": datetime(2026, 9, 30, 23, 59).timestamp()}))
    (ledger.parent / "notes.jsonl").write_text("not ours")
    ledger.write_text(lines(*({"at": NOON - hours * 3600} for hours in (0, 5, 30, 24 * 8))))

    def calls(*arguments: str) -> int:
        return int(report(capsys, *arguments)["total"]["calls"])

    assert calls() == 4
    assert calls("--since", "all") == 5
    assert calls("--since", "6h") == 2
    assert calls("--since", "7d") == 3
    assert calls("--since", "2w", "--until", "1d") == 2
    assert calls("--since", "today") == 2
    assert calls("--since", "yesterday", "--until", "yesterday") == 1
    assert calls("--since", "2026-11-13", "--until", "2026-11-13") == 1
    assert calls("--since", "2026-09", "--until", "2026-09") == 1
    assert calls("--since", "2026-09-30", "--until", "2026-11-20") == 3


def test_days_are_those_of_the_clock_on_the_wall() -> None:
    code = (
        "import time, os; os.environ['TZ'] = 'Asia/Kathmandu'; time.tzset()\n"
        "from semac.cli.usage_sums import Days, start_of; d = Days()\n"
        "at = 1795284000.0\n"
        "print(d.of(at), d.of(at + 15 * 60), start_of('today', at), start_of('today', at + 900))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    midnight = 1795284900.0  # 18:15 UTC
    assert done.stdout.split() == ["2026-11-21", "2026-11-22", str(midnight - 86400), str(midnight)], done.stderr


@pytest.mark.parametrize(
    "text", ["", "soon", "7", "d", "2026-13", "2026-11-31", "7 d", "99999999d", "-1d", "2026-1-1x"]
)
def test_what_is_no_time(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--since", text]) == 2
    assert f"'{text}' is no time: give 7d" in capsys.readouterr().err
    assert start_of("1d", NOON) == end_of("1d", NOON) == NOON - 86400


def test_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["usage", "--by", "colour"]) == 2
    assert "--by colour: expected model, provider, script, day, operation" in capsys.readouterr().err
    assert main(["usage", "--json", "--csv"]) == 2
    assert main(["usage", "--help"]) == 0
    assert "SEMA_USAGE=off" in capsys.readouterr().out


BAD = [
    b"not json",
    b"{}",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"[" * 100_000,
    lines({"at": "now"}).strip().encode(),
    lines({"at": True}).strip().encode(),
    lines({"at": float("nan")}).strip().encode(),
    lines({"model": None}).strip().encode(),
    lines({"prompt_tokens": "5"}).strip().encode(),
    lines({"prompt_tokens": -5}).strip().encode(),
    lines({"completion_tokens": 1.5}).strip().encode(),
    lines({"cost_usd": "1"}).strip().encode(),
    lines({"cost_usd": -1}).strip().encode(),
    lines({"cost_usd": float("inf")}).strip().encode(),
    lines({"cost_usd": 10**400}).strip().encode(),
    lines({"at": 10**400}).strip().encode(),
    lines({"cached": 1}).strip().encode(),
    lines({}).strip().encode()[:-10],
]


def test_damaged_lines_are_skipped_and_counted(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = lines({}).encode()
    ledger.write_bytes(good + b"".join(bad + b"\n" + good for bad in BAD) + b"\n \n" + good[:30])
    out = usage(capsys)
    assert f"{len(BAD)} damaged lines skipped in {ledger}.\n" in out
    found = report(capsys)
    assert (found["total"]["calls"], found["damaged_lines"]) == (len(BAD) + 1, len(BAD))


def test_one_bad_line(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.write_text('{"at":1\n' + '"x":2}\n' + lines({}))
    assert f"2 damaged lines skipped in {ledger}.\n" in usage(capsys)
    ledger.write_text("?\n" + lines({}))
    assert f"1 damaged line skipped in {ledger}.\n" in usage(capsys)


def test_blocks_and_long_lines(
    ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage_sums, "BLOCK", 100)
    monkeypatch.setattr(usage_sums, "LONGEST_LINE", 1000)
    ledger.write_text(lines(*[{}] * 50) + "x" * 5000 + "\n" + lines(*[{}] * 50))
    found = report(capsys)
    assert found["total"]["calls"] == 100
    assert found["damaged_lines"] >= 1


def test_nothing_yet(ledger: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    ledger.parent.rmdir()
    monkeypatch.setenv("SEMA_USAGE", "off")
    out = usage(capsys)
    assert f"No calls in {ledger.parent}.\n" in out and "SEMA_USAGE is off.\n" in out
    assert report(capsys)["rows"] == []
    assert usage(capsys, "--csv").startswith("model,calls,failed,")


def test_what_can_not_be_read(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.mkdir()
    assert main(["usage"]) == 1
    assert capsys.readouterr().err == f"Error: {ledger}: Is a directory\n"


def test_real_calls_are_summed(
    llm: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SEMA_HOME", str(tmp_path))
    monkeypatch.delenv("SEMA_USAGE", raising=False)
    program = tmp_path / "ask.sema"
    with serving(Answer(body=chat_reply("hi", prompt=1_000_000, completion=0))) as server:
        program.write_text(
            f'(llm/configure :openai {{:api-key "k" :base-url "{server.url}"}})'
            '(llm/complete "a") (llm/with-cassette "t.jsonl" (fn () (llm/complete "b") (llm/complete "b")))'
        )
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "semac.cli.entry", str(program)]
        done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    run('(llm/set-pricing "gpt-5.5" 5 5)')
    found = report(capsys, "--by", "script,model")
    [row] = found["rows"]
    assert (row["script"], row["model"], row["calls"], row["replayed_calls"]) == (str(program), "gpt-5.5", 2, 1)
    assert row["prompt_tokens"] == 2_000_000 and row["cost_usd"] > 1
