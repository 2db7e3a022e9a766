"""The reader: text to forms with places.

Forms are Sema data: `List` (its `.span` says where it stood), tuple (vector), `Map`, and atoms. Reader syntax becomes
lists: `'x` → `(quote x)`, `#(+ % 1)` → `(lambda (%1) (+ %1 1))`, `f"a${x}"` → `(__vm-str "a" x)`.

Nothing here recurses on the nesting of brackets: open brackets are frames on a list, at most `DEPTH_LIMIT` of them.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import symbol
from sema_runtime.values.errors import ReaderError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.syntax.indentation import extra_advice, missing_advice
from semac.syntax.lexer import Comment, Token, lex
from semac.syntax.literals import ATOM, CLOSE, FSTRING, OPEN, PLACEHOLDER, PREFIX
from semac.syntax.spans import Span, moved

DEPTH_LIMIT = 1024
FSTRING_DEPTH_LIMIT = 64  # f-strings inside f-strings are read by recursion
PLACEHOLDER_LIMIT = 255
PLACEHOLDER_RANGE = 2**32  # a larger number behind % makes an ordinary symbol

TOP, LIST, VECTOR, MAP, SHORT, PREFIXED, DOTTED = range(7)
KINDS = {"(": LIST, "[": VECTOR, "{": MAP, "#(": SHORT}
NAMES = {LIST: "list", VECTOR: "vector", MAP: "map", SHORT: "short lambda #(...)"}
OPENERS = {LIST: "(", VECTOR: "[", MAP: "{"}
CLOSERS = {LIST: ")", VECTOR: "]", MAP: "}", SHORT: ")"}
ENDED_BY = {")": "parenthesis", "]": "bracket", "}": "brace"}
PREFIXES = {  # what a prefix reads as, and an example for the hint
    "'": ("quote", "quote (') requires", "e.g. '(1 2 3) or 'foo"),
    "`": ("quasiquote", "quasiquote (`) requires", "e.g. `(list ,x)"),
    ",": ("unquote", "unquote (,) requires", "use inside quasiquote, e.g. `(list ,x)"),
    ",@": ("unquote-splicing", "unquote-splicing (,@) requires", "use inside quasiquote, e.g. `(list ,@xs)"),
    "@": ("deref", "deref (@) requires", "e.g. @x or @(atom)"),
}
LAMBDA = symbol("lambda")
DOT_SYMBOL = symbol(".")
REST = symbol("%&")
FORMAT = symbol("__vm-str")
ATOM_NAMES = {
    "bool": "boolean", "NoneType": "symbol", "int": "integer", "str": "string", "Symbol": "symbol",
    "Keyword": "keyword", "Char": "character", "Fraction": "rational",
}  # fmt: skip


def read_program(text: str) -> List:
    """All top-level forms; the list's span has their places as children. Raises ReaderError with a span."""
    return _Parser(lex(text), None).run()


def read_one(text: str) -> Any:
    """The first form of text, nil when there is none. Raises ReaderError, also for bad tokens behind the first form."""
    forms = _Parser(lex(text), None).run(only_first=True).items
    return forms[0] if forms else None


def read_recovering(text: str) -> tuple[List, list[ReaderError], list[Comment]]:
    """What editors need of a text that may be broken: the forms that could be read, all errors, and the comments."""
    errors: list[ReaderError] = []
    comments: list[Comment] = []
    forms = _Parser(lex(text, comments=comments, errors=errors), errors).run()
    errors.sort(key=lambda error: tuple(error.span))
    return forms, errors, comments


def parse_fstring(source: str) -> List:
    """The `(__vm-str part ...)` form of one f-string literal, given with its quotes. Raises ReaderError."""
    form = read_one(source)
    if type(form) is not List or not form.items or form.items[0] is not FORMAT:
        raise ReaderError("expected an f-string", Span(1, 1, 1, 1))
    return form


class _Frame:
    """An open bracket or prefix: what was read inside so far."""

    __slots__ = ("items", "kind", "span", "spans", "text")

    def __init__(self, kind: int, span: Span, text: str) -> None:
        self.kind = kind
        self.span = span
        self.text = text
        self.items: list[Any] = []
        self.spans: list[Span] = []


class _Short:
    """The placeholders seen in a `#(...)`."""

    __slots__ = ("largest", "rest")

    def __init__(self) -> None:
        self.largest = 0
        self.rest = False


class _Abandoned(Exception):
    """Recovery is not possible; what was read so far stands."""


class _Parser:
    """errors: None raises the first error; a list collects errors and reading continues."""

    def __init__(self, tokens: list[Token], errors: list[ReaderError] | None, short: _Short | None = None) -> None:
        self.tokens = tokens
        self.index = 0
        self.errors = errors
        self.enclosing_short = short
        self.short = short
        self.fstring_depth = 0
        last = tokens[-1][2] if tokens else Span(1, 1, 1, 1)
        self.end = Span(last.end_line, last.end_col, last.end_line, last.end_col)
        self.top = _Frame(TOP, Span(1, 1, 1, 1), "")
        self.stack = [self.top]

    def run(self, only_first: bool = False) -> List:
        """Reads everything, or as much as makes the first form."""
        try:
            self._read(only_first)
            if len(self.stack) > 1 and not (only_first and self.top.items):
                self._unterminated()
        except _Abandoned:
            pass
        forms = List(self.top.items)
        forms.span = Span(1, 1, self.end.line, self.end.col, tuple(self.top.spans))
        return forms

    def _read(self, only_first: bool) -> None:
        tokens = self.tokens
        count = len(tokens)
        frame = self.stack[-1]
        while self.index < count:
            kind, value, span = tokens[self.index]
            self.index += 1
            if kind == ATOM:
                frame.items.append(value)
                frame.spans.append(span)
            elif kind == OPEN:
                frame = self._open(value, span)
                continue
            elif kind == CLOSE:
                if not self._close(value, span):
                    frame = self.stack[-1]
                    continue
                frame = self.stack[-1]
            elif kind == PREFIX:
                frame = self._push(PREFIXED, span, value)
                continue
            elif kind == PLACEHOLDER:
                frame.items.append(self._placeholder(value))
                frame.spans.append(span)
            elif kind == FSTRING:
                frame.items.append(self._fstring(value, span))
                frame.spans.append(span)
            else:
                frame = self._dot(frame, span)
                continue
            if frame.kind >= PREFIXED:
                frame = self._settle()
            if only_first and frame.kind == TOP:
                return

    # Frames

    def _push(self, kind: int, span: Span, text: str) -> _Frame:
        frame = _Frame(kind, span, text)
        self.stack.append(frame)
        if len(self.stack) > DEPTH_LIMIT:
            self._check_depth(span)
        return frame

    def _check_depth(self, span: Span) -> None:
        """Refuses a form on level 1025; the last level may only hold empty lists."""
        if len(self.stack) == DEPTH_LIMIT + 1:
            if self.index >= len(self.tokens) or self.tokens[self.index][0] == CLOSE:
                return
            span = self.tokens[self.index][2]
        self._fail(f"input nested too deeply (limit {DEPTH_LIMIT})", span, "reduce nesting depth")
        raise _Abandoned

    def _open(self, opener: str, span: Span) -> _Frame:
        if opener == "#u8(":
            self._bytes(span)
            return self._settle() if self.stack[-1].kind >= PREFIXED else self.stack[-1]
        kind = KINDS[opener]
        if kind == SHORT:
            if self.short is not self.enclosing_short:
                self._fail(
                    "nested short lambdas are not allowed",
                    span,
                    "use a regular `lambda` or `fn` for the inner function",
                )
                kind = LIST
            else:
                self.short = _Short()
        return self._push(kind, span, opener)

    def _close(self, closer: str, span: Span) -> bool:
        """Ends the innermost frame; false when the closer was reported and skipped."""
        frame = self.stack[-1]
        kind = frame.kind
        if CLOSERS.get(kind) != closer or (kind == MAP and len(frame.items) % 2):
            return self._bad_close(frame, closer, span)
        self.stack.pop()
        start = frame.span
        place = Span(start.line, start.col, span.end_line, span.end_col, frame.spans)
        place.is_written = self.fstring_depth == 0 and self.short is None
        form: Any
        if kind == LIST:
            form = List(frame.items)
            form.span = place
        elif kind == VECTOR:
            form = tuple(frame.items)
        elif kind == MAP:
            form = self._map(frame, place)
        else:
            form = self._short_lambda(frame, place)
            place = form.span
        parent = self.stack[-1]
        parent.items.append(form)
        parent.spans.append(place)
        return True

    def _settle(self) -> _Frame:
        """Ends the prefix and dot frames whose one form has just been read; returns the frame to continue with."""
        frame = self.stack[-1]
        while frame.kind >= PREFIXED:
            self.stack.pop()
            parent = self.stack[-1]
            form, place = frame.items[0], frame.spans[0]
            if frame.kind == PREFIXED:
                name = symbol(PREFIXES[frame.text][0])
                start = frame.span
                whole = Span(start.line, start.col, place.end_line, place.end_col, (start, place))
                form = List([name, form])
                form.span = place = whole
            parent.items.append(form)
            parent.spans.append(place)
            if frame.kind == DOTTED:
                self._check_pair_end()
            frame = parent
        return frame

    def _dot(self, frame: _Frame, span: Span) -> _Frame:
        """A lone dot: one form and the closing parenthesis must follow. It stays in the list as a symbol."""
        if frame.kind != LIST:
            self._fail("unexpected `.`", span, "dots are used in pair notation, e.g. (a . b)")
            return frame
        frame.items.append(DOT_SYMBOL)
        frame.spans.append(span)
        return self._push(DOTTED, span, ".")

    def _check_pair_end(self) -> None:
        if self.index >= len(self.tokens):
            self._fail("expected `)`, got end of input", self.end)
            return
        kind, value, span = self.tokens[self.index]
        if kind != CLOSE or value != ")":
            self._fail(f"expected `)`, got `{_token_name(kind, value)}`", span)

    # Errors

    def _fail(self, message: str, span: Span, hint: str | None = None) -> None:
        """Raises the error, or keeps it. An error behind a quote is reported as the quote's, as in the reference."""
        error = ReaderError(message, span, hint)
        if self.errors is not None:
            self.errors.append(error)
            return
        for frame in self.stack:
            if frame.kind == PREFIXED:
                outer = _prefix_error(frame)
                if frame is not self.stack[-1] or outer.span != span:
                    outer.note = f"{message} at {span.line}:{span.col}"
                raise outer
        raise error

    def _bad_close(self, frame: _Frame, closer: str, span: Span) -> bool:
        kind = frame.kind
        if kind == PREFIXED and self.errors is not None:
            self.errors.append(_prefix_error(frame))
            self.stack.pop()
            return self._close(closer, span)
        if kind == MAP and closer == "}":
            self._fail("map literal must have even number of forms", span)
            frame.items.append(None)
            frame.spans.append(span)
            return self._close(closer, span)
        if kind not in OPENERS or (kind == MAP and len(frame.items) % 2):
            hint = extra_advice(f"no matching opening {ENDED_BY[closer]}", self.tokens)
            self._fail(f"unexpected closing `{closer}`", span, hint)
        else:
            opener, wanted, name = OPENERS[kind], CLOSERS[kind], NAMES[kind]
            self._fail(
                f"mismatched bracket: expected `{wanted}` to close `{opener}`, found `{closer}`",
                span,
                f"this {name} was opened with `{opener}` — close it with `{wanted}`",
            )
        if any(CLOSERS.get(outer.kind) == closer for outer in self.stack):
            self.index -= 1  # ends everything up to the bracket that it fits
            self._drop_innermost(span)
        return False

    def _drop_innermost(self, span: Span) -> None:
        """Recovery: ends the innermost frame as if its closer stood at span."""
        frame = self.stack[-1]
        if frame.kind in CLOSERS:
            if frame.kind == MAP and len(frame.items) % 2:
                frame.items.append(None)
                frame.spans.append(span)
            self._close(CLOSERS[frame.kind], span)
        else:
            self.stack.pop()

    def _unterminated(self) -> None:
        """Reports the open frames, innermost first, and ends them."""
        while len(self.stack) > 1:
            frame = self.stack[-1]
            if frame.kind == PREFIXED:
                if frame.items:
                    self._settle()
                    continue
                self._fail(*_prefix_words(frame.text, frame.span))
            elif frame.kind == DOTTED:
                self._fail("unexpected end of input", self.end)
            elif frame.kind == MAP and len(frame.items) % 2:
                self._fail("map literal must have even number of forms", frame.span)
            else:
                name, closer = NAMES[frame.kind], CLOSERS[frame.kind]
                self._fail(f"unterminated {name}", frame.span, missing_advice(closer, self.tokens))
            self._drop_innermost(self.end)

    # Forms

    def _map(self, frame: _Frame, place: Span) -> Map:
        """The map of a frame; of equal keys the last value wins. The children of place follow the map's dict."""
        items, spans = frame.items, frame.spans
        try:
            entries = Map.of(zip(items[::2], items[1::2], strict=True))
        except (RecursionError, TypeError):
            self._fail("map key is nested too deeply", place)
            return Map()
        if len(entries) * 2 == len(items):
            return entries
        places: dict[Any, tuple[Span, Span]] = {}
        for index in range(0, len(items), 2):
            stored = next(iter(Map.of([(items[index], None)]).d))
            first = places.get(stored)
            places[stored] = (first[0] if first else spans[index], spans[index + 1])
        place.children = [span for pair in places.values() for span in pair]
        return entries

    def _bytes(self, start: Span) -> None:
        values: list[int] = []
        tokens = self.tokens
        while self.index < len(tokens):
            kind, value, span = tokens[self.index]
            self.index += 1
            if kind == CLOSE and value == ")":
                frame = self.stack[-1]
                frame.items.append(bytes(values))
                frame.spans.append(Span(start.line, start.col, span.end_line, span.end_col))
                return
            if kind != ATOM or type(value) is not int or not -(2**63) <= value < 2**63:
                self._fail("#u8(...): expected integer byte value", span)
            elif not 0 <= value < 256:
                self._fail(f"#u8(...): byte value {value} out of range 0..255", span)
            else:
                values.append(value)
        self._fail("unterminated bytevector", start, "add a closing `)`")
        raise _Abandoned

    def _placeholder(self, name: Any) -> Any:
        """The parameter that `%`, `%1` or `%&` inside a short lambda means; elsewhere they are ordinary names."""
        short = self.short
        if short is None:
            return name
        if name is REST:
            short.rest = True
            return name
        digits = name.name[1:]
        number = int(digits[:20]) if digits else 1
        if number < PLACEHOLDER_RANGE:
            short.largest = max(short.largest, number)
        return name if digits else symbol("%1")

    def _short_lambda(self, frame: _Frame, place: Span) -> List:
        short = self.short
        assert short is not None
        outer = self.short = self.enclosing_short
        if short.largest > PLACEHOLDER_LIMIT:
            self._fail(
                f"short lambda placeholder %{short.largest} exceeds the maximum of {PLACEHOLDER_LIMIT}",
                frame.span,
                "use a regular `lambda` with named parameters instead",
            )
            short.largest = PLACEHOLDER_LIMIT
        if outer is not None:
            outer.largest = max(outer.largest, short.largest)
            outer.rest = outer.rest or short.rest
        names = [symbol(f"%{number}") for number in range(1, short.largest + 1)]
        if short.rest:
            names += [DOT_SYMBOL, REST]
        head = frame.span
        parameters = List(names)
        parameters.span = moved(head, [head] * len(names))
        body = List(frame.items)
        body.span = place
        form = List([LAMBDA, parameters, body])
        form.span = moved(place, (head, parameters.span, place))
        return form

    def _fstring(self, parts: list[tuple[bool, str, Span]], span: Span) -> List:
        items: list[Any] = [FORMAT]
        spans = [Span(span.line, span.col, span.line, span.col + 1)]
        for is_code, text, place in parts:
            items.append(self._interpolation(text, place) if is_code else text)
            spans.append(place)
        form = List(items)
        span.children = spans
        span.is_written = False
        form.span = span
        return form

    def _interpolation(self, text: str, place: Span) -> Any:
        """The one form inside `${...}`, read with its place in the whole text."""
        if self.fstring_depth >= FSTRING_DEPTH_LIMIT:
            self._fail(f"input nested too deeply (limit {FSTRING_DEPTH_LIMIT})", place, "reduce nesting depth")
            raise _Abandoned
        collected = self.errors
        try:
            tokens = lex(text, place.line, place.col, errors=collected)
            inner = _Parser(tokens, collected, self.short)
            inner.fstring_depth = self.fstring_depth + 1
            forms = inner.run(only_first=True).items
        except ReaderError as error:
            self._fail(error.message, error.span, error.hint)
            return None
        if not forms:
            self._fail("f-string interpolation is empty", place, "put an expression inside ${...}")
        elif inner.index < len(tokens):
            message = "f-string interpolation must contain exactly one expression"
            self._fail(message, place, "wrap multiple forms, e.g. ${(do a b)}")
        return forms[0] if forms else None


def _prefix_words(prefix: str, span: Span) -> tuple[str, Span, str]:
    _, requires, hint = PREFIXES[prefix]
    return f"{requires} an expression after it", span, hint


def _prefix_error(frame: _Frame) -> ReaderError:
    return ReaderError(*_prefix_words(frame.text, frame.span))


def _token_name(kind: int, value: Any) -> str:
    """How a message calls a token."""
    if kind == FSTRING:
        return "f-string"
    if kind == PLACEHOLDER:
        return "symbol"
    if kind != ATOM:
        return str(value)
    name = type(value).__name__
    return ATOM_NAMES.get(name, name)


__all__ = ["Comment", "parse_fstring", "read_one", "read_program", "read_recovering"]
