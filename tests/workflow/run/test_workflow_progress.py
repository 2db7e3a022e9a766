"""What `sema workflow run` shows while it runs: in terminals of several widths, and in a pipe."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from terminal_support import Terminal, environment

MODEL = """
(llm/define-provider :scripted {:default-model "m"
  :complete (fn (request) {:content "ok" :usage {:prompt-tokens 3 :completion-tokens 2}})})
"""
SETTINGS = {"CI": "", "NO_COLOR": "", "SEMA_WORKFLOW_RUN_DIR": "runs"}


def command(folder: Path, text: str) -> list[str]:
    (folder / "w.sema").write_text(MODEL + text)
    return [sys.executable, "-m", "semac.cli.entry", "workflow", "run", "w.sema"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def piped(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, text), cwd=folder, capture_output=True, text=True, env=environment(**SETTINGS), timeout=60
    )


def on_screen(folder: Path, text: str, width: int = 80, **settings: str) -> tuple[str, bytes]:
    """What the screen shows at the end, and all that was written."""
    with Terminal(command(folder, text), width=width, **SETTINGS, **settings) as terminal:
        terminal.end()
        return terminal.shown(), terminal.written


# Steps that let the sums be drawn in between.
MANY = """(defworkflow w "" {:budget {:tokens 1000}} (phase "Read")
  (parallel (map (fn (n) (fn () (workflow/step {:name "reader" :prompt (str n)}
    (fn () (async/sleep n) (llm/complete "p"))))) (range 100))) 1)"""


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_lines_and_sums_of_a_hundred_steps_fit_the_terminal(folder: Path, width: int) -> None:
    shown, written = on_screen(folder, MANY, width)
    text = written.decode()
    assert re.search("Read: [1-8] running", text)
    lines = [line.rpartition("\r\x1b[K")[2] for line in text.replace("\r\n", "\n").split("\n")]
    steps = [line for line in lines if line.startswith("  ok")]
    assert len(steps) == 100
    assert max(map(len, steps)) <= width
    sums = [part.partition("\x1b[0m")[0] for part in text.split("\x1b[2m")[1:]]
    assert max(map(len, sums)) < width
    assert "running" not in shown  # nothing stays behind
    assert "100 steps, 500 of 1,000 tokens, cost unknown" in text


def test_a_pipe_gets_plain_lines(folder: Path) -> None:
    done = piped(folder, MANY)
    lines = done.stderr.splitlines()
    assert len(lines) == 103
    assert "\x1b" not in done.stderr
    assert "running" not in done.stderr
    assert lines[1] == "phase Read"
    assert lines[2].split()[:2] == ["ok", "reader_1"]
    assert lines[-1].endswith(": 100 steps, 500 of 1,000 tokens, cost unknown")


@pytest.mark.parametrize("settings", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_without_colours(folder: Path, settings: dict[str, str]) -> None:
    with Terminal(command(folder, MANY), **(SETTINGS | settings)) as terminal:
        terminal.end()
        assert b"\x1b[2m" not in terminal.written
        assert (b"running" in terminal.written) is ("TERM" not in settings)


def test_the_clock_goes_on_while_a_step_takes_its_time(folder: Path) -> None:
    text = '(defworkflow w "" {} (phase "Wait") (workflow/step "long" (fn () (sleep 60000))))'
    with Terminal(command(folder, text), **SETTINGS) as terminal:
        terminal.until("Wait: 1 running, 0 done, no tokens, 00:01")
        terminal.end(2)
        shown = terminal.shown()
    assert "running" not in shown
    assert "w was interrupted; what was finished is kept." in shown


def test_nothing_in_a_name_can_do_harm(folder: Path) -> None:
    r"""Names, labels, keys and errors are the program's, or a model's."""
    evil = r"a\x1b;[2Jb\nc"
    text = f"""(defworkflow w "" {{}} (phase "{evil}") (checkpoint "{evil}" 1)
      (step "line\\nline\\x1b;[31m" {{:name "{evil}"}})
      (try (workflow/step "x" (fn () (error "{evil}"))) (catch e 1)))"""
    for shown in (on_screen(folder, text)[0], piped(folder, text).stderr):
        assert r"phase a\x1b[2Jb c" in shown
        assert r"checkpoint a\x1b[2Jb c" in shown
        assert r"ok         a\x1b[2Jb c_1" in shown
        assert r"error: a\x1b[2Jb" in shown
    assert b"\x1b[2J" not in on_screen(folder, text)[1]


def test_wide_names_stand_in_columns(folder: Path) -> None:
    text = """(defworkflow w "" {} (map (fn (name) (workflow/step name (fn () 1))) '("読者" "reader" "é")))"""
    lines = [line for line in on_screen(folder, text)[0].splitlines() if line.startswith("  ok")]
    assert [line.split()[1] for line in lines] == ["読者_1", "reader_1", "é_1"]
    ends = {line.index("s", line.index("_1 ")) + sum(char in "読者" for char in line) for line in lines}
    assert len(ends) == 1


def test_what_the_program_prints_stands_above_the_sums(folder: Path) -> None:
    text = """(defworkflow w "" {} (phase "A") (parallel (list
      (fn () (workflow/step "s" (fn () (map (fn (n) (async/sleep 20) (println "line" n)) (range 20)))))
      (fn () (workflow/step "t" (fn () (async/sleep 900)))))) (display "no end of line"))"""
    shown, written = on_screen(folder, text)
    lines = shown.splitlines()
    assert [line for line in lines if line.startswith("line")] == [f"line {n}" for n in range(20)][-len(lines) + 4 :]
    assert lines[-2] == "no end of line"
    assert lines[-1].startswith("w: success in ")
    assert b"running" in written


def test_a_question_is_not_drawn_over(folder: Path) -> None:
    text = """(defworkflow w "" {} (phase "Ask")
      (workflow/step "asker" (fn () (display "Your name? ") (let ((name (read-line)))
        (async/sleep 700) (println "Hello" name)))))"""
    with Terminal(command(folder, text), **SETTINGS) as terminal:
        terminal.until("Your name? ")
        terminal.type(b"Ad")
        terminal.until("Your name? Ad")
        assert terminal.shown().splitlines()[-1] == "Your name? Ad"
        terminal.type(b"a\n")
        terminal.until("Hello Ada")
        terminal.end()
        assert "Your name? Ada" in terminal.shown()


def test_each_run_has_its_own_sums(folder: Path) -> None:
    done = piped(
        folder,
        """(define (flow n) (defworkflow w "" {} (map (fn (i) (step (str i))) (range n))))
           (llm/set-pricing "m" 1 1) (flow 3) (flow 1)
           (defworkflow outer "" {} (step "a") (defworkflow inner "" {} (step "b") (step "c") (error "no")))""",
    )
    ended = [line.partition(": ")[2] for line in done.stderr.splitlines() if " in " in line]
    assert [line.partition("s: ")[2] for line in ended] == [  # 8 ms, 1.2 s
        *("3 steps, 15 tokens, $0.000015", "1 step, 5 tokens, $0.0000050"),
        *("2 steps, 10 tokens, $0.000010", "1 step, 5 tokens, $0.0000050"),
    ]


def test_a_run_that_failed_says_how_to_go_on(folder: Path) -> None:
    done = piped(folder, '(defworkflow w "" {} (step "a") (error "no"))')
    (run,) = (folder / "runs").iterdir()
    assert f"w: what was finished is kept: --resume {run.name}\n" in done.stderr
    assert "--resume" not in piped(folder, '(defworkflow w "" {} (error "no"))').stderr


def test_the_last_line_says_what_the_body_said(folder: Path) -> None:
    done = piped(folder, '(defworkflow w "" {} (step "a") {:status :failed :why "all empty"})')
    assert "w: failed in " in done.stderr
    assert "w: what was finished is kept: --resume" in done.stderr
    assert "w: partial in " in piped(folder, '(defworkflow w "" {} {:status :partial})').stderr


def test_nobody_reads_it(folder: Path) -> None:
    """A closed pipe doesn't stop the run."""
    process = subprocess.Popen(
        command(folder, '(defworkflow w "" {} (map (fn (n) (workflow/step "s" (fn () n))) (range 50)))'),
        cwd=folder, env=environment(**SETTINGS), stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    process.stderr.close()
    assert process.wait(60) == 0
    (run,) = (folder / "runs").iterdir()
    assert '"status": "success"' in (run / "result.json").read_text()


def test_what_can_be_done_about_failed_steps_is_told_once(folder: Path) -> None:
    done = piped(folder, """(defworkflow w "" {}
        (define (failing n) (fn () (workflow/step "s" (fn () (workflow/mcp-handle 'x)))))
        (parallel (map failing (range 3))) 1)""")  # fmt: skip
    hints = [line for line in done.stderr.splitlines() if "hint" in line]
    assert hints == ['w: 3 steps failed; hint: add it to the meta map: {:mcp {x {:command "..."}}}']
