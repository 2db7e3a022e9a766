"""The guard of the policies in force: the layers of a call ask it (llm/policy_guard.py); it writes to the journal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256

from sema_runtime.llm.messages import Reply, Request, ToolCall
from sema_runtime.values.errors import LlmError, PolicyDenied
from sema_runtime.workflow.journal.events import (
    PolicyBypassed,
    PolicyChecked,
    PolicyFlagged,
    PolicyRedacted,
    PolicyViolation,
)
from sema_runtime.workflow.policy.request_texts import Leaves, RequestTexts
from sema_runtime.workflow.policy.rules import BLOCK, REDACT, SKIP, STRICTNESS, TOOL_ERROR, Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.calls import Call
    from sema_runtime.llm.tools.tool import Tool
    from sema_runtime.workflow.policy.texts import Finding, Scan

    Record = Callable[..., None]

MODEL, TOOL, INPUT, OUTPUT = "model", "tool", "llm.input", "llm.output"
REQUEST = "request"
UNKNOWN = "unknown"  # who would be asked, when nobody is configured
SOURCES = {"cache": "cache", "cassette": "cassette"}  # by the provider of a reply


class PolicyGuard:
    """policies: all of them must allow. record(event class, **fields) writes an event. bypass: the reason for which
    nothing is checked for now, "" for none."""

    def __init__(self, policies: tuple[Policy, ...], record: Record, bypass: str = "") -> None:
        self.policies = policies
        self.record = record
        self.bypass = bypass
        self.fingerprint = "" if bypass else effective_fingerprint(policies)
        self.key = self.fingerprint.encode()
        self._holds_back = any(policy.output is not None for policy in policies) and not bypass

    # Completions

    def complete(self, request: Request, ask: Callable[[Request], Reply]) -> Reply:
        from sema_runtime.llm import fallback

        subject, chain = self._targets(request)
        request = self._request(request, subject)
        before = None if chain is None else fallback.chain.set(chain)
        try:
            reply = ask(request)
        finally:
            if before is not None:
                fallback.chain.reset(before)
        return self._reply(subject, reply)

    def stream(
        self, request: Request, on_chunk: Callable[[str], Any], ask: Callable[[Request, Callable[[str], Any]], Reply]
    ) -> Reply:
        if not self._holds_back:
            return self.complete(request, lambda allowed: ask(allowed, on_chunk))
        pieces: list[str] = []
        raw: list[Reply] = []

        def asked(allowed: Request) -> Reply:
            raw.append(ask(allowed, pieces.append))
            return raw[0]

        reply = self.complete(request, asked)
        for piece in pieces if reply.content == raw[0].content else [reply.content]:
            if piece:
                on_chunk(piece)
        return reply

    def _targets(self, request: Request) -> tuple[str, Any]:
        """Who is asked first as `provider/model`, and the chain without those that are skipped (None: as it is)."""
        from sema_runtime.llm import fallback

        targets, entries = _targets(request), fallback.chain.get()
        kept = [place for place, target in enumerate(targets) if not (entries and self._skips(target))]
        first = targets[kept[0]] if kept else _subject(request, targets)
        if targets:
            self._check_target(first)
        return first, tuple(entries[place] for place in kept) if len(kept) < len(targets) else None

    def _skips(self, target: str) -> bool:
        """Whether a target in a chain is passed over: denied, and by no policy that fails for it."""
        actions = {action for _, _, allowed, action in self._model_rules(target) if not allowed}
        if actions != {SKIP} or self.bypass:
            return False
        for policy, rule, allowed, _ in self._model_rules(target):
            if not allowed:
                self._violated(policy, MODEL, target, rule, SKIP, REQUEST)
        return True

    def _model_rules(self, target: str) -> list[tuple[str, str, bool, str]]:
        """(policy, rule, whether it is allowed, what to do if not) for each policy with a section for models."""
        from sema_runtime.workflow.policy.matching import model_rule

        rules = []
        for policy in self.policies:
            if policy.models is not None:
                allowed, rule = model_rule(policy.models, target)
                rules.append((policy.name, rule, allowed, policy.models.on_deny))
        return rules

    def _check_target(self, target: str, tell: bool = True) -> None:
        rules = self._model_rules(target)
        if rules and self.bypass:
            self._bypassed([policy for policy, *_ in rules], MODEL, target)
            return
        denials = []
        for policy, rule, allowed, action in rules:
            if not allowed:
                reason = "the model is denied" if rule == "models.deny" else "the model is not allowed"
                denials.append(PolicyDenied(policy, MODEL, target, rule, reason, action))
            elif tell:
                self.record(PolicyChecked, policy=policy, boundary=MODEL, subject=target, rule=rule, source=REQUEST)
        self._refuse(denials)

    def target(self, provider: str, model: str) -> None:
        if not self.bypass:
            self._check_target(f"{provider}/{model}", tell=False)

    def request(self, provider: str, model: str, request: Request) -> Request:
        subject = f"{provider}/{model}"
        self._check_target(subject)
        return self._request(request, subject)

    def reply_text(self, call: Call) -> str:
        assert call.reply is not None
        return self._reply(f"{call.provider}/{call.model}", call.reply).content

    def _request(self, request: Request, subject: str) -> Request:
        """The request as it may be sent."""
        request_texts = RequestTexts(request)
        texts = self._scanned(INPUT, subject, request_texts.texts)
        return request if texts is request_texts.texts else request_texts.with_texts(texts)

    def texts(self, provider: str, model: str, texts: list[str]) -> list[str]:
        subject = f"{provider or UNKNOWN}/{model}"
        if provider and not _replaying():
            self._check_target(subject)
        return self._scanned(INPUT, subject, texts)

    def _scanned(self, boundary: str, subject: str, texts: list[str]) -> list[str]:
        """The texts of a request, checked by the detectors of every policy."""
        from sema_runtime.workflow.policy.texts import Scan

        policies = [policy for policy in self.policies if policy.input is not None]
        if not policies:
            return texts
        if self.bypass:
            self._bypassed([policy.name for policy in policies], boundary, subject)
            return texts
        scan = Scan("input", texts)
        denials: list[PolicyDenied] = []
        for policy in policies:
            assert policy.input is not None
            findings = list(scan.findings(policy, policy.input.detectors))
            denials += self._judged(policy.name, boundary, subject, "input.detect", findings, REQUEST)
        self._refuse(denials)
        return scan.redacted()

    # Replies

    def _reply(self, subject: str, reply: Reply) -> Reply:
        """The reply as the program may see it."""
        calls = reply.tool_calls
        leaves = Leaves()
        for call in calls:
            leaves.take(call.arguments)
        source = SOURCES.get(reply.provider, REQUEST)
        texts = [reply.content, *leaves.texts]
        read = self._read_reply(subject, texts, not calls, source)
        if read is texts:
            return reply
        rest = iter(read[1:])
        changed = [replace(call, arguments=leaves.rebuilt(call.arguments, rest)) for call in calls]
        return replace(reply, content=read[0], tool_calls=changed)

    def last_text(self, request: Request, text: str) -> str:
        if not any(policy.output is not None for policy in self.policies):
            return text
        return self._read_reply(_subject(request, _targets(request)), [text], True, REQUEST)[0]

    def _read_reply(self, subject: str, texts: list[str], final: bool, source: str) -> list[str]:
        """The texts of a reply, its own first. final: with it the exchange ends."""
        from sema_runtime.workflow.policy.texts import Scan, reply_findings

        policies = [policy for policy in self.policies if policy.output is not None]
        if not policies:
            return texts
        if self.bypass:
            self._bypassed([policy.name for policy in policies], OUTPUT, subject, source)
            return texts
        scan: Scan = Scan("output", texts)
        denials: list[PolicyDenied] = []
        for policy in policies:
            assert policy.output is not None
            findings = list(scan.findings(policy, policy.output.detectors))
            for place, text in enumerate(texts):
                findings += reply_findings(policy, policy.output, text, final and place == 0)
            denials += self._judged(policy.name, OUTPUT, subject, "output", findings, source)
        self._refuse(denials)
        return scan.redacted()

    def _judged(
        self, policy: str, boundary: str, subject: str, rule: str, findings: list[Finding], source: str
    ) -> list[PolicyDenied]:
        """Writes findings in texts to the journal; returns the denials among them."""
        if not findings:
            self.record(PolicyChecked, policy=policy, boundary=boundary, subject=subject, rule=rule, source=source)
        denials = []
        for finding in findings:
            about = {"policy": policy, "boundary": boundary, "subject": subject, "rule": finding.rule, "source": source}
            if finding.action == REDACT:
                self.record(PolicyRedacted, **about, label=finding.label, count=finding.count)
            else:
                self.record(PolicyFlagged, **about, label=finding.label, count=finding.count, action=finding.action)
            if finding.action == BLOCK:
                denials.append(PolicyDenied(policy, boundary, subject, finding.rule, finding.reason, BLOCK, source))
        return denials

    # Tools

    def tool_calls(self, calls: Sequence[ToolCall], tools: dict[str, Tool]) -> dict[int, PolicyDenied]:
        refused: dict[int, PolicyDenied] = {}
        for call in calls:
            tool = tools.get(call.name)
            denials = self._tool_denials(tool, call.arguments) if tool is not None else []
            if denials:
                refused[id(call)] = strictest(denials)
        for denial in refused.values():
            self._tell(denial)
        final = [denial for denial in refused.values() if denial.action != TOOL_ERROR]
        if final:
            raise final[0]
        return refused

    def invoke(self, tool: Tool, arguments: Any) -> None:
        self._refuse(self._tool_denials(tool, arguments))

    def _tool_denials(self, tool: Tool, arguments: Any) -> list[PolicyDenied]:
        from sema_runtime.workflow.policy.tool_checks import arguments_of, verdicts

        policies = [policy for policy in self.policies if policy.tools is not None or policy.subjects is not None]
        if policies and self.bypass:
            self._bypassed([policy.name for policy in policies], TOOL, tool.name)
            return []
        named = arguments_of(tool, arguments) if policies else {}
        denials = []
        for policy in policies:
            for verdict in verdicts(policy, tool, named):
                if verdict.reason:
                    denials.append(
                        PolicyDenied(policy.name, TOOL, tool.name, verdict.rule, verdict.reason, verdict.action)
                    )
                else:
                    self.record(
                        PolicyChecked,
                        policy=policy.name,
                        boundary=TOOL,
                        subject=tool.name,
                        rule=verdict.rule,
                        source=REQUEST,
                    )
        return denials

    # What the journal has

    def _refuse(self, denials: list[PolicyDenied]) -> None:
        """Raises the strictest of the denials, if there is one."""
        if denials:
            denial = strictest(denials)
            self._tell(denial)
            raise denial

    def _tell(self, denial: PolicyDenied) -> None:
        self._violated(denial.policy, denial.boundary, denial.subject, denial.rule, denial.action, denial.source)

    def _violated(self, policy: str, boundary: str, subject: str, rule: str, action: str, source: str) -> None:
        self.record(
            PolicyViolation, policy=policy, boundary=boundary, subject=subject, rule=rule, action=action, source=source
        )

    def _bypassed(self, policies: list[str], boundary: str, subject: str, source: str = REQUEST) -> None:
        for policy in policies:
            self.record(
                PolicyBypassed, policy=policy, boundary=boundary, subject=subject, reason=self.bypass, source=source
            )


def _targets(request: Request) -> list[str]:
    """Who may be asked, in order; nobody when a tape gives the answer, or may have it as nobody is configured."""
    from sema_runtime.llm import fallback

    if _replaying():
        return []
    try:
        return [f"{provider.name}/{model}" for provider, model in fallback.targets(request)]
    except LlmError:
        return []


def _subject(request: Request, targets: list[str]) -> str:
    return targets[0] if targets else f"{UNKNOWN}/{request.model}"


def _replaying() -> bool:
    """Whether a tape gives all answers: then nobody is asked. Its keys say that the policy allowed it then."""
    from sema_runtime.llm.recordings import cassette

    tape = cassette.current()
    return tape is not None and tape.mode == "replay"


def strictest(denials: list[PolicyDenied]) -> PolicyDenied:
    """The first of those with the strictest action."""
    return min(denials, key=lambda denial: STRICTNESS.index(denial.action))


def effective_fingerprint(policies: tuple[Policy, ...]) -> str:
    """The fingerprint of all policies in force: that of the only one, or one of theirs in order; "" for none."""
    if len(policies) < 2:
        return policies[0].fingerprint if policies else ""
    both = "\n".join(policy.fingerprint for policy in policies)
    return f"sha256:{sha256(both.encode()).hexdigest()}"
