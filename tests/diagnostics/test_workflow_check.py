"""`sema workflow check` and `workflow/check`: each diagnostic, where it stands, what the command prints and gives."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from paths import DOCS

from semac.checks import workflows as workflow_check
from semac.checks.workflows import check_text
from semac.cli.workflow.check import main
from semac.session import Session

SHAPE = "defworkflow needs a name, a doc string, a meta map, and a body"
UNDECLARED = "is opened but not declared in :phases (the dashboard won't show it up front)"
SHAPE_HINT = '(defworkflow name "doc" {:phases [...]} body…)'
MARKER_HINT = 'phase is a marker, not a wrapper: write (phase "x") then the body forms as siblings'
STATUS_HINT = "e.g. {:status :success :result …}"
NO_LIMIT = "W-BUDGET :budget limits nothing"
EARLY = "W-FANOUT-STEP {0} takes functions: this step is asked before {0} begins"
END = "{:status :success}"


def workflow(body: str, meta: str = "{}") -> str:
    """A workflow with that body on its second line."""
    return f'(defworkflow w "doc" {meta}\n  {body}\n  {END})'


def found(text: str) -> list[tuple[str, str, str]]:
    """(severity, `line:column`, `CODE message`) of each finding."""
    return [(one.severity, f"{one.line}:{one.column}", f"{one.code} {one.message}") for one in check_text(text)]


@pytest.mark.parametrize(
    "text",
    [
        "",
        '(defworkflow w "doc" {})',
        workflow('(phase "A") (checkpoint :k 1) (checkpoint "k") (step "p" {:name "n" :tools [t]})'),
        workflow('(phase "A")', '{:phases ["A"]}'),
        workflow('(phase "A")', "{:phases (:A)}"),
        workflow("(parallel thunks 3) (pipeline items f)"),
        workflow('(parallel (list (fn () (step "p")))) (pipeline (list (step "p")) f)'),
        workflow("1", "{:budget {:tokens limit :usd (half 3) :reserve #t}}"),
        workflow("1", "{:budget budget}"),
        workflow('(approval :go {:reason "r" :subject 1}) (if ok (approval :b {:reason "r" :subject 2}))'),
        workflow("(approval :go options)"),
        workflow('(policy/without "because" (step "p"))'),
        workflow("1", '{:mcp {a {:url "u" :auth {} :tools ["x"] :persist :run} b {:command "c" :persist :none}}}'),
        workflow("1", "{:mcp {a {:url u :tools ()}}}"),
        *(f'(defworkflow w "doc" {{}} ({head} x))' for head in ("let", "do", "begin", "if", "cond", "match", "case")),
        '(defworkflow w "doc" {} [when x])',
        "(phase) (checkpoint) (step) (parallel) (approval)",
        "(define (f) (phase 1 2 3))",
    ],
)
def test_nothing_to_find(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ('\n(defworkflow w "doc")', ("error", "2:1", f"E-WF-SHAPE {SHAPE}")),
        (f'(defworkflow "w" "doc" {{}} {END})', ("error", "1:1", "E-WF-NAME defworkflow name must be a bare symbol")),
        (f"(defworkflow w doc {{}} {END})", ("warning", "1:1", "W-WF-DOC defworkflow doc should be a string")),
        (
            f'(defworkflow w "doc" [] {END})',
            ("error", "1:1", "E-WF-META defworkflow meta must be a map (e.g. {:phases [...] :budget {...}})"),
        ),
        (
            workflow('(if x (phase "A"))', '{:phases ["A"]}'),
            ("warning", "1:1", 'W-PHASE-UNUSED phase "A" is declared in :phases but never opened with (phase "A")'),
        ),
        (
            workflow("1", r'{:phases ["a\"\n\\"]}'),
            ("warning", "1:1", r'W-PHASE-UNUSED phase "a\"\n\\" is declared in :phases but never opened with '
                r'(phase "a\"\n\\")'),
        ),
        (
            workflow('(phase "B")', "{:phases []}"),
            (
                "warning",
                "2:3",
                f'W-PHASE-UNDECL phase "B" {UNDECLARED}',
            ),
        ),
        (
            '(defworkflow w "doc" {}\n (f))',
            ("warning", "2:2", "W-NO-STATUS workflow body should end in a {:status …} map (the run result envelope)"),
        ),
        (
            '(defworkflow w "doc" {}\n [1 2])',
            ("warning", "2:2", "W-NO-STATUS workflow body should end in a {:status …} map (the run result envelope)"),
        ),
        (
            '(defworkflow w "doc" {}\n {:state 1})',
            ("warning", "1:1", "W-NO-STATUS workflow body should end in a {:status …} map (the run result envelope)"),
        ),
        (workflow("1", "{:mcp 1}"), ("error", "1:1", "E-MCP-SPEC :mcp must be a map of alias -> server spec")),
        (workflow("1", "{:mcp {:a {}}}"), ("error", "1:1", "E-MCP-SPEC :mcp alias :a must be a bare symbol")),
        (workflow("1", '{:mcp {"a" {}}}'), ("error", "1:1", 'E-MCP-SPEC :mcp alias "a" must be a bare symbol')),
        (workflow("1", "{:mcp {a 1}}"), ("error", "1:1", "E-MCP-SPEC :mcp a: spec must be a map")),
        (workflow("1", "{:mcp {a {}}}"), ("error", "1:1", "E-MCP-SPEC :mcp a: spec is missing :url or :command")),
        (
            workflow("1", "{:mcp {a {:url 1 :command 2}}}"),
            ("error", "1:1", "E-MCP-SPEC :mcp a: spec has both :url and :command — pick exactly one transport"),
        ),
        (
            workflow("1", "{:mcp {a {:command 2 :auth {}}}}"),
            ("error", "1:1", "E-MCP-SPEC :mcp a: :auth is not valid on a stdio (:command) spec"),
        ),
        (
            workflow("1", '{:mcp {a {:url "u" :persist "run"}}}'),
            ("error", "1:1", "E-MCP-PERSIST :mcp a: :persist must be one of :keyring, :workflow, :run, :none"),
        ),
        (
            workflow("1", '{:mcp {a {:url "u" :tools [x]}}}'),
            ("warning", "1:1", "W-MCP-TOOLS :mcp a: :tools should be a list of strings"),
        ),
        (
            workflow('(let () (phase "A" (f)))'),
            ("error", "2:11", "E-PHASE-ARITY phase takes exactly 1 argument (its label), got 2"),
        ),
        (workflow("(phase)"), ("error", "2:3", "E-PHASE-ARITY phase takes exactly 1 argument (its label), got 0")),
        (workflow("(phase :A)"), ("warning", "2:3", "W-PHASE-LABEL phase label should be a string")),
        (workflow("(checkpoint)"), ("error", "2:3", "E-CKPT-ARITY checkpoint takes 1 or 2 arguments, got 0")),
        (workflow("[(checkpoint 1 2 3)]"), ("error", "2:4", "E-CKPT-ARITY checkpoint takes 1 or 2 arguments, got 3")),
        (workflow("(checkpoint 'k 1)"), ("warning", "2:3", "W-CKPT-KEY checkpoint key should be a keyword or string")),
        (workflow("'(step)"), ("error", "2:4", "E-STEP-ARITY step needs at least a prompt argument")),
        (workflow('(step "p" {:name :n})'), ("warning", "2:3", "W-STEP-NAME step :name should be a string")),
        (
            workflow('(step "p" {:tools t})'),
            ("warning", "2:3", "W-STEP-TOOLS step :tools should be a list/vector of tools"),
        ),
        (
            workflow('(step "p" {:agent a :tools [t]})'),
            ("warning", "2:3", "W-STEP-AGENT-TOOLS step :agent owns its own tools; inline :tools is ignored"),
        ),
        (
            workflow('(step "p" {:agent a :model "m"})'),
            ("warning", "2:3", "W-STEP-AGENT-MODEL step :agent owns its own model; inline :model is ignored"),
        ),
        (workflow("(parallel)"), ("warning", "2:3", "W-FANOUT-ARITY parallel expects at least one argument")),
        (workflow("(pipeline)"), ("warning", "2:3", "W-FANOUT-ARITY pipeline expects at least one argument")),
        (workflow('(parallel (step "p"))'), ("warning", "2:3", EARLY.format("parallel"))),
        (workflow('(parallel [f (step "p")] 2)'), ("warning", "2:3", EARLY.format("parallel"))),
        (workflow('(parallel (list f (step "p")))'), ("warning", "2:3", EARLY.format("parallel"))),
        (workflow('(pipeline items f (step "p"))'), ("warning", "2:3", EARLY.format("pipeline"))),
        (workflow('(step "p" {:model "m"})'), ("warning", "2:3", "W-STEP-OPTION step :model has no effect")),
        (workflow('(step "p" {:naem "m"})'), ("warning", "2:3", "W-STEP-OPTION step :naem has no effect")),
        (workflow("1", "{:budget 5}"), ("warning", "1:1", f"{NO_LIMIT}: it should be a map")),
        (workflow("1", "{:budget {:usd nil}}"), ("warning", "1:1", f"{NO_LIMIT}: :usd is no number")),
        (
            workflow("1", "{:budget {:max-usd 5}}"),
            ("warning", "1:1", "W-BUDGET :budget has an unknown key :max-usd, which limits nothing"),
        ),
        (
            workflow("(approval :go)"),
            ("error", "2:3", "E-APPROVAL-ARITY approval takes exactly 2 arguments (its key and its options), got 1"),
        ),
        (
            workflow('(approval :go {:subject 1})'),
            ("error", "2:3", "E-APPROVAL-OPTIONS approval needs :reason and :subject"),
        ),
        (
            workflow('(when x (approval :go {:reason "r"}))'),
            ("error", "2:11", "E-APPROVAL-OPTIONS approval needs :reason and :subject"),
        ),
        (
            workflow('(policy/without (str "a") (f))'),
            (
                "error",
                "2:3",
                "E-POLICY-WITHOUT policy/without requires a literal reason string and at least one body form",
            ),
        ),
        (
            workflow('(policy/without "because")'),
            (
                "error",
                "2:3",
                "E-POLICY-WITHOUT policy/without requires a literal reason string and at least one body form",
            ),
        ),
    ],
)  # fmt: skip
def test_one_finding(text: str, finding: tuple[str, str, str]) -> None:
    assert found(text) == [finding]


@pytest.mark.parametrize(
    "head",
    ["parallel", "pipeline", "parallel-settled", "async", "async/spawn", "async/with-timeout", "step", "try", "guard",
     "retry", "with-retry", "with-open", "py/with", "term/with-mouse", "checkpoint", "workflow/step", "workflow/run",
     "workflow/checkpoint", "pipeline-settled", "with-stream", "io/with-raw-mode", "async/map", "defworkflow"],
)  # fmt: skip
def test_an_approval_stands_in_the_body_itself(head: str) -> None:
    message = f"E-APPROVAL-PLACE approval must stand in the workflow body itself, not inside {head}"
    column = len(f"  ({head} 1 2 (fn () ") + 1
    text = workflow(f"({head} 1 2 (fn () (approval :k options)))")
    assert [one for one in found(text) if one[2].startswith("E-APP")] == [("error", f"2:{column}", message)]


@pytest.mark.parametrize("head", ["let", "when", "if", "map", "dotimes", "policy/without", "fn", "llm/with-budget"])
def test_forms_in_which_an_approval_may_stand(head: str) -> None:
    assert not [one for one in found(workflow(f'({head} "r" (approval :k options))')) if one[2].startswith("E-APP")]


def test_scopes_of_budgets() -> None:
    for scope, codes in ((":run", []), ('"process"', []), ("given", []), (":forever", ["E-BUDGET-SCOPE"])):
        found = check_text(workflow("{:status :success}", f"{{:budget {{:usd 5 :scope {scope}}}}}"))
        assert [one.code for one in found] == codes


def test_every_code_has_a_test_and_stands_in_the_docs() -> None:
    codes = set(re.findall(r'"([EW]-[A-Z-]+)"', Path(workflow_check.__file__).read_text()))
    for text in (Path(__file__).read_text(), (DOCS / "reference" / "workflow-commands.md").read_text()):
        assert codes - set(re.findall(r"[EW](?:-[A-Z]+)+", text)) == set()


def test_servers_come_in_the_order_of_their_names() -> None:
    text = workflow("1", '{:mcp {b {} "s" 1 a {} :k {}}}')
    assert [one.message.split()[1].rstrip(":") for one in check_text(text)] == ["alias", "a", "b", "alias"]


def test_signs_that_cannot_be_seen_are_escaped() -> None:
    (one,) = check_text(workflow("1", '{:phases ["e\u0301\u200bé\x07"]}'))
    assert r'phase "e\u{301}\u{200b}é\u{7}" is declared' in one.message


def test_hints() -> None:
    hints = {one.code: one.hint for one in check_text('(defworkflow w) (defworkflow w "d" {} (phase))')}
    assert hints == {"E-WF-SHAPE": SHAPE_HINT, "E-PHASE-ARITY": MARKER_HINT, "W-NO-STATUS": STATUS_HINT}
    approval = check_text(workflow("(try (approval :a {}))"))
    assert [one.hint for one in approval] == [
        '(approval :key {:reason "what a person agrees to" :subject value})',
        "an undecided approval ends the run: ask for it before or after the (try …) form",
    ]
    assert [one.hint for one in check_text("(f")] == ["add a closing `)`"]


def test_the_order_is_that_of_the_rules_and_then_of_the_text() -> None:
    text = """(define x (defworkflow "w" d {:phases ["A"] :mcp {a {}}}
      (phase "B" (step))
      (pipeline (fn () (checkpoint)))))
    [(defworkflow)]
    (defworkflow v "d" {} (defworkflow u) {:status 1}"""
    assert [one.code for one in check_text(text)] == [
        *("E-PARSE", "E-WF-NAME", "W-WF-DOC", "W-PHASE-UNUSED", "W-PHASE-UNDECL", "W-NO-STATUS", "E-MCP-SPEC"),
        *("E-PHASE-ARITY", "E-STEP-ARITY", "E-CKPT-ARITY", "E-WF-SHAPE"),
    ]


def test_a_text_that_cannot_be_read_is_checked_as_far_as_it_can() -> None:
    assert found('(defworkflow w "doc" {}\n  (phase)\n  {:status :success})\n(f ]\n') == [
        ("error", "4:1", "E-PARSE unterminated list"),
        ("error", "4:4", "E-PARSE mismatched bracket: expected `)` to close `(`, found `]`"),
        ("error", "2:3", "E-PHASE-ARITY phase takes exactly 1 argument (its label), got 0"),
    ]


@pytest.mark.parametrize(
    "text", ["(defworkflow", "(defworkflow w", '(defworkflow w "d" {} (phase', '(defworkflow w "d" {} (f)']
)
def test_what_is_missing_with_a_bracket_is_not_told(text: str) -> None:
    assert {one[2] for one in found(text)} == {"E-PARSE unterminated list"}


def test_deep_nesting_is_no_problem() -> None:
    assert found(workflow("(f " * 900 + "(phase)" + ")" * 900))[0][2].startswith("E-PHASE-ARITY")


# The command


def write(folder: Path, text: str) -> str:
    path = folder / "w.sema"
    path.write_text(text)
    return str(path)


def test_text_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, workflow("(phase) (parallel)"))
    assert main([path]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{path}:2:3: error[E-PHASE-ARITY]: phase takes exactly 1 argument (its label), got 0",
        f"  hint: {MARKER_HINT}",
        f"{path}:2:11: warning[W-FANOUT-ARITY]: parallel expects at least one argument",
        f"{path}: 1 error(s), 1 warning(s)",
    ]


def test_json_output(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, workflow("(phase) (parallel)"))
    assert main(["--json", path]) == 1
    out = capsys.readouterr().out
    finding = (
        '    {\n      "code": "E-PHASE-ARITY",\n      "col": 3,\n'
        f'      "hint": {json.dumps(MARKER_HINT)},\n      "line": 2,\n'
        '      "message": "phase takes exactly 1 argument (its label), got 0",\n      "severity": "error"\n    },'
    )
    assert out.startswith(f'{{\n  "diagnostics": [\n{finding}\n')
    assert out.endswith(f'\n  ],\n  "errors": 1,\n  "file": "{path}",\n  "warnings": 1\n}}\n')
    assert json.loads(out)["diagnostics"][1]["hint"] is None


def test_nothing_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, workflow("1"))
    assert main([path]) == 0
    assert capsys.readouterr().out == f"{path}: ok — no issues found\n"
    assert main([path, "--json"]) == 0
    assert (
        capsys.readouterr().out
        == f'{{\n  "diagnostics": [],\n  "errors": 0,\n  "file": "{path}",\n  "warnings": 0\n}}\n'
    )


def test_warnings_count_when_asked(tmp_path: Path) -> None:
    path = write(tmp_path, workflow("(parallel)"))
    assert main([path]) == 0
    assert main(["--strict", path]) == 1


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["no-such.sema"], "error: file not found: no-such.sema\n"),
        ([], "error: no file given\n"),
        (["a", "b"], "error: one file at a time\n"),
        (["--quick"], "error: unknown option '--quick'\n"),
    ],
)
def test_what_cannot_be_checked(args: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(args) == 2
    assert capsys.readouterr().err.startswith(message)


def test_a_folder_and_a_binary_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "binary.sema").write_bytes(b"\xff\xfe")
    for path in (tmp_path, tmp_path / "binary.sema"):
        assert main([str(path)]) == 2
        assert capsys.readouterr().err.startswith(f"error: reading {path}: ")


def test_the_command_loads_the_reader_alone(tmp_path: Path) -> None:
    code = (
        "import sys; from semac.cli import entry\n"
        "sys.argv = ['sema', 'workflow', 'check', sys.argv[1]]; status = entry.main()\n"
        "print(status, *sorted(name for name in sys.modules if name.startswith(('semac.', 'sema_runtime.', 'click'))))"
    )
    command = [sys.executable, "-c", code, write(tmp_path, workflow("(step)"))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    status, *loaded = done.stdout.splitlines()[-1].split()
    assert status == "1", done.stderr
    assert not [name for name in loaded if name.startswith(("click", "sema_runtime.l", "sema_runtime.workflow"))]


# The builtin


def test_a_program_checks_texts_and_forms() -> None:
    session = Session("<test>")
    assert session.run(f"(workflow/check {json.dumps(workflow('1'))})") == []
    shown = session.run('(str (workflow/check "(defworkflow w \\"d\\" {} (phase))"))')
    assert shown.startswith('({:code "W-NO-STATUS" :col 23 :hint "e.g. ')
    assert shown.endswith(':line 1 :message "phase takes exactly 1 argument (its label), got 0" :severity :error})')
    session.run("(define (brief one) (list (:code one) (:line one) (:col one)))")
    form = session.run('(map brief (workflow/check \'(defworkflow w "d" {} (step) {:status 1})))')
    assert [list(one) for one in form] == [["E-STEP-ARITY", 1, 23]]
    message = session.run("(try (workflow/check) (catch e (:message e)))")
    assert message == "workflow/check expects 1 argument, got 0"


# What `sema workflow run` makes of it

ONE_LABEL = "phase takes exactly 1 argument (its label), got 0"
GOOD = '(defworkflow good "d" {} {:status :success})'


def run(folder: Path, text: str | bytes) -> subprocess.CompletedProcess[str]:
    (folder / "w.sema").write_bytes(text if isinstance(text, bytes) else text.encode())
    command = [sys.executable, "-m", "semac.cli.entry", "workflow", "run", "w.sema", "-q"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (f"{GOOD}\n{workflow('(phase)')}", [f"w.sema:3:3: error[E-PHASE-ARITY]: {ONE_LABEL}"]),
        (f"{GOOD}\n(defworkflow w", ["w.sema:2:1: error[E-PARSE]: unterminated list", "  hint: add a closing `)`"]),
        (f"{GOOD})", ["w.sema:1:45: error[E-PARSE]: unexpected closing `)`"]),
        (f'{GOOD}\n"open', ["w.sema:2:1: error[E-PARSE]: unterminated string"]),
    ],
)  # fmt: skip
def test_a_program_with_errors_is_not_run(text: str, lines: list[str], tmp_path: Path) -> None:
    done = run(tmp_path, text)
    said = done.stderr.splitlines()
    assert (done.returncode, done.stdout) == (1, "")
    assert said[0] == "error: w.sema has an error and is not run (`sema workflow check` tells of warnings, too)"
    assert said[1 : 1 + len(lines)] == lines
    assert not (tmp_path / ".sema").exists()


def test_all_errors_are_told_and_no_warnings(tmp_path: Path) -> None:
    text = workflow("(step)", "{:mcp 1}") + workflow("(checkpoint) (parallel)") + '(when #f (defworkflow "x" "d" {} 1))'
    said = run(tmp_path, text).stderr
    assert said.startswith("error: w.sema has 4 errors and is not run")
    assert re.findall(r"\[([EW]-[A-Z-]+)\]", said) == ["E-MCP-SPEC", "E-STEP-ARITY", "E-CKPT-ARITY", "E-WF-NAME"]


def test_warnings_and_what_is_no_workflow_do_not_keep_a_program_from_running(tmp_path: Path) -> None:
    assert run(tmp_path, workflow('(phase "A") 1', '{:phases ["B"]}')).returncode == 0
    assert run(tmp_path, b"\xef\xbb\xbf" + GOOD.encode()).returncode == 0
    assert run(tmp_path, "(define (phase) 1) (phase)").returncode == 0
    assert run(tmp_path, GOOD.encode() + b'"\xff"').stderr == "error: w.sema is not UTF-8 text\n"


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "w.sema"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert main([str(path)]) == 0
