"""Policy maps: what is refused with which hint, what models, paths, addresses and commands they match, fingerprints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llm_support import run

from sema_runtime.values.errors import SemaError
from sema_runtime.workflow import policy
from sema_runtime.workflow.policy import matching
from sema_runtime.workflow.policy.matching import Unreadable
from sema_runtime.workflow.policy.rules import Pattern, Policy


def compiled(text: str, step: bool = False) -> Policy:
    (one,) = policy.compiled(run(text), step)
    return one


# The map


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("{:modles {}}", "policy 'inline': has the unknown key :modles", "did you mean :models?"),
        ("{:zzz {}}", "policy 'inline': has the unknown key :zzz", "valid: :models, :tools"),
        ("{:models {:alow []}}", "policy 'inline': models has the unknown key :alow", "did you mean :allow?"),
        ("{:models []}", "policy 'inline': models must be a map, got vector", None),
        ('{:models {:allow ["gpt"]}}', 'models.allow must hold "provider/model" or "provider/*", got "gpt"', None),
        ('{:models {:allow ["*/x"]}}', 'got "*/x"', None),
        ("{:models {:default :alow}}", "models.default can't be :alow", "did you mean :allow?"),
        ("{:models {:on-deny :tool-error}}", "models.on-deny can't be :tool-error", "valid: :fail, :skip"),
        ("{:tools {:allow [:a]}}", "tools.allow must be a map, got vector", None),
        (
            '{:tools {:allow {:read {:path ["a"]}}}}',
            "tools.allow.read has the unknown key :path",
            "did you mean :paths?",
        ),
        ("{:tools {:allow {:read {:paths []}}}}", "tools.allow.read.paths must not be empty", None),
        ('{:tools {:allow {:r {:paths {:arg "p"}}}}}', "tools.allow.r.paths.allow must not be empty", None),
        ('{:tools {:allow {:r {:paths ["/etc"]}}}}', 'tools.allow.r.paths has "/etc": paths are relative', None),
        ('{:tools {:allow {:r {:paths ["../x"]}}}}', "can't have .. in it", None),
        ('{:tools {:allow {:r {:paths ["*.md"]}}}}', '"*.md" must be * or **', None),
        ('{:tools {:allow {:r {:domains ["https://a.b"]}}}}', "domains are hosts", None),
        ('{:tools {:allow {:r {:domains {:allow ["a.b"] :ports [0]}}}}}', "must be an integer from 1 to 65535", None),
        ("{:subjects {:allow [{}]}}", "subjects.allow item 1 is missing :kind", None),
        ("{:subjects {:allow [{:kind :file-raed}]}}", "can't be :file-raed", "did you mean :file-read?"),
        (
            '{:subjects {:allow [{:kind :file-read :domains ["a.b"]}]}}',
            "of kind :file-read can't have :domains",
            "it may have :paths",
        ),
        ("{:input {:detect [:emial]}}", 'input.detect can\'t be "emial"', "did you mean :email?"),
        ("{:input {:detect [:email] :actions {:phone :block}}}", "has :phone, which :detect doesn't list", None),
        ("{:input {:detect [:email] :actions {:email :skip}}}", "input.actions.email can't be :skip", None),
        ('{:output {:forbid [{:contains "x"}]}}', "output.forbid item 1 is missing :id", None),
        ('{:output {:forbid [{:id :a :contains "x" :regex "y"}]}}', "needs either :contains or :regex", None),
        ('{:output {:forbid [{:id :a :regex "("}]}}', "is no regular expression", None),
        ('{:output {:forbid [{:id :a :contains "x"} {:id :a :contains "y"}]}}', 'has the :id "a" of another one', None),
        ("{:output {:schema {:a :strng}}}", "output.schema.a can't be :strng", "did you mean :string?"),
        ("{:output {:schema {:a {:optional #t}}}}", "output.schema.a is missing :type", None),
        ("{:output {:max-length -1}}", "must be an integer from 0", None),
        ("{:output {:action :redact}}", "output.action can't be :redact", "valid: :block, :audit"),
        ('{:completion {:require-events ["run.ended"]}}', 'can\'t be "run.ended"', "did you mean :run.started?"),
        ('{:completion {:require-events ["checkpont"]}}', 'can\'t be "checkpont"', "did you mean :checkpoint?"),
        ('{:models {:default :deny "default" :deny}}', "models has :default twice", None),
        ("42", ":policy must be a policy map or a list of them, got int", None),
        ("[1]", ":policy must hold policy maps, got int", None),
    ],
)
def test_mistakes(text: str, message: str, hint: str | None) -> None:
    with pytest.raises(SemaError) as caught:
        policy.compiled(run(text))
    assert message in caught.value.message
    assert hint is None or hint in (caught.value.hint or "")


def test_defpolicy_gives_its_name_to_messages() -> None:
    with pytest.raises(SemaError, match="policy 'careful': has the unknown key :deny"):
        policy.compiled(run("(defpolicy careful {:deny [:shell]}) careful"))


def test_a_step_has_no_metadata_and_no_completion() -> None:
    for section in ("{:metadata {:require [:owner]}}", "{:completion {:require-events [:checkpoint]}}"):
        assert compiled(section)
        with pytest.raises(SemaError, match="on a step"):
            compiled(section, step=True)


def test_several_policies_and_none() -> None:
    assert policy.compiled(None) == ()
    assert len(policy.compiled(run("[{} {}]"))) == len(policy.compiled(run("(list {} {})"))) == 2


def test_fingerprints_follow_name_and_rules() -> None:
    one = compiled('(defpolicy p {:models {:allow ["a/b"] :default :deny}}) p').fingerprint
    assert one == compiled('(defpolicy p {"models" {:default "deny" :allow (list "a/b")}}) p').fingerprint
    assert one != compiled('(defpolicy q {:models {:allow ["a/b"] :default :deny}}) q').fingerprint
    assert one != compiled('(defpolicy p {:models {:allow ["a/c"] :default :deny}}) p').fingerprint
    assert one.startswith("sha256:") and len(one) == 71


def test_denied_metadata_and_missing_events() -> None:
    policies = policy.compiled(run('{:metadata {:require [:owner]} :completion {:require-events ["checkpoint"]}}'))
    denial = policy.denied_metadata(policies, run('{:owner ""}'))
    assert denial is not None and denial.rule == "metadata.require"
    assert policy.denied_metadata(policies, run('{:owner "me"}')) is None
    assert policy.missing_events(policies, {"run.started"}) == ("completion policy missing required events: checkpoint")
    assert policy.missing_events(policies, {"checkpoint"}) == ""


# Models


@pytest.mark.parametrize(
    ("rules", "target", "expected"),
    [
        ('{:allow ["a/x"]}', "a/x", (True, "models.allow")),
        ('{:allow ["a/x"]}', "a/y", (False, "models.default-deny")),
        ('{:allow ["a/*"] :deny ["a/x"]}', "a/x", (False, "models.deny")),
        ('{:allow ["a/x"] :deny ["a/*"]}', "a/x", (False, "models.deny")),
        ('{:allow ["a/*"]}', "a/x/y", (True, "models.allow")),
        ("{:default :allow}", "b/z", (True, "models.default-allow")),
        ("{}", "b/z", (False, "models.default-deny")),
    ],
)
def test_models(rules: str, target: str, expected: tuple[bool, str]) -> None:
    models = compiled(f"{{:models {rules}}}").models
    assert models is not None
    assert matching.model_rule(models, target) == expected


# Paths


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("src/a.txt", "src/a.txt", True),
        ("src/a.txt", "src/b.txt", False),
        ("src/*", "src/a.txt", True),
        ("src/*", "src/sub/a.txt", False),
        ("src/**", "src/sub/a.txt", True),
        ("src/**", "src", True),
        ("**/a.txt", "x/y/a.txt", True),
        ("**/a.txt", "a.txt", True),
        ("**/x/**/a", "x/b/a", True),
        ("**", "anything/at/all", True),
        ("src/**", "./src//x/../a.txt", True),
        ("src/**", "src/../other/a.txt", False),
        (".", "", False),
    ],
)
def test_paths(pattern: str, path: str, expected: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rule = Pattern("paths", (matching.compiled_path(pattern),))
    if path:
        assert matching.is_allowed(rule, path) is expected
    else:
        with pytest.raises(Unreadable):
            matching.is_allowed(rule, path)


@pytest.mark.parametrize("path", ["/etc/passwd", "../x", "a/../../x", "a\\b", "a\0b", 7, None])
def test_paths_that_leave_the_workspace(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unreadable):
        matching.is_allowed(Pattern("paths", (("**",),)), path)


def test_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace, outside = tmp_path / "work", tmp_path / "outside"
    for folder in (workspace / "src", workspace / "private", outside):
        folder.mkdir(parents=True)
    (workspace / "src" / "out").symlink_to(outside)
    (workspace / "src" / "inner").symlink_to("../private")
    (workspace / "loop").symlink_to("loop")
    monkeypatch.chdir(workspace)
    sources = Pattern("paths", (("src", "**"),))
    with pytest.raises(Unreadable, match="a link in it leaves the workspace"):
        matching.is_allowed(sources, "src/out/x")
    assert not matching.is_allowed(sources, "src/inner/x")  # allowed as it is written only
    assert matching.is_denied(Pattern("paths", (("private", "**"),)), "src/inner/x")
    with pytest.raises(Unreadable):  # .. after a link goes up from where the link leads
        matching.is_allowed(sources, "src/out/../x")


# Addresses and commands


@pytest.mark.parametrize(
    ("domains", "url", "expected"),
    [
        ('["example.com"]', "https://example.com/x", True),
        ('["example.com"]', "https://EXAMPLE.com.:443/", True),
        ('["example.com"]', "https://www.example.com/", False),
        ('["*.example.com"]', "https://www.example.com/", True),
        ('["*.example.com"]', "https://example.com/", False),
        ('["*.example.com"]', "https://evilexample.com/", False),
        ('["bücher.de"]', "https://xn--bcher-kva.de/", True),
        ('["[::1]"]', "https://[::1]:8080/", True),
        ('["example.com"]', "http://example.com/", None),
        ('{:allow ["example.com"] :schemes ["http"]}', "http://example.com/", True),
        ('{:allow ["example.com"] :ports [8443]}', "https://example.com/", None),
        ('{:allow ["example.com"] :ports [443]}', "https://example.com/", True),
        ('{:allow ["*.example.com"] :deny ["x.example.com"]}', "https://x.example.com/", False),
        ('["example.com"]', "https://user:pw@example.com/", None),
        ('["example.com"]', "https://@example.com/", None),
        ('["example.com"]', "https://example.com\\\\@evil.com/", None),
        ('["example.com"]', "https://exam ple.com/", None),
        ('["example.com"]', "https://example.com:99999/", None),
        ('["example.com"]', "example.com", None),
        ('["example.com"]', "https://", None),
    ],
)
def test_domains(domains: str, url: str, expected: bool | None) -> None:
    tools = compiled(f"{{:tools {{:allow {{:fetch {{:domains {domains}}}}}}}}}").tools
    assert tools is not None
    (constraint,) = tools.allow["fetch"]
    assert constraint.argument == "url"
    value = url.replace("\\\\", "\\")
    if expected is None:
        with pytest.raises(Unreadable):
            matching.is_allowed(constraint.pattern, value)
    else:
        assert matching.is_allowed(constraint.pattern, value) is expected


def test_commands_are_compared_as_they_are() -> None:
    rule = Pattern("commands", ("git status",))
    assert matching.is_allowed(rule, "git status")
    assert not matching.is_allowed(rule, "git status; rm -rf /")
    with pytest.raises(Unreadable):
        matching.is_allowed(rule, ["git", "status"])


def test_texts_that_must_be_there_are_a_list() -> None:
    with pytest.raises(SemaError, match=r"output\.require must be a list or vector, got keyword"):
        compiled("{:output {:require :disclaimer}}")
