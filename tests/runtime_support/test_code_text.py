"""Code objects as text that compresses well."""

from __future__ import annotations

import textwrap
from types import CodeType

from sema_runtime import MODULES
from sema_runtime.code_text import read, table_of, text_of, written

SOURCE = textwrap.dedent('''
    def simple(a, b=1, /, *rest, c, **more):
        """Text."""
        return [a + item * 200 for item in rest] or (
            c, more, "\\ud800", 1.5, -3, True, None, 10**30, b"x", frozenset({1})
        )

    def outer(x):
        def inner(y):
            nonlocal x
            x = x + y
            return lambda: (x, y, inner)
        global shared
        def shared():
            yield from inner(x)
        try:
            return inner
        except (ValueError, KeyError) as error:
            raise error from None
''')


def functions(source: str) -> list[CodeType]:
    code = compile(source, "a file", "exec")
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def fields(code: CodeType) -> list[object]:
    """All that a code object consists of."""
    names = [name for name in dir(code) if name.startswith("co_")]
    own = [getattr(code, name) for name in names if name not in ("co_consts", "co_lines", "co_positions", "co_lnotab")]
    own = [each for each in own if not callable(each)]
    return [
        *own,
        *(fields(each) if isinstance(each, CodeType) else (type(each), repr(each)) for each in code.co_consts),
    ]


def test_code_is_read_as_it_was_written() -> None:
    codes = functions(SOURCE)
    for similar in ([], codes[:1], codes[1:], codes):
        text, dictionary = written(codes, similar)
        table = table_of(similar)
        assert dictionary == text_of(similar, table)
        assert [*map(fields, read(text, table))] == [*map(fields, codes)]


def test_many_names_and_constants() -> None:
    body = "".join(f"    name_{at} = other_{at}({at}, 'text {at}')\n" for at in range(300))
    codes = functions("def many():\n" + body)
    text, _ = written(codes, [])
    assert [*map(fields, read(text, table_of([])))] == [*map(fields, codes)]


def test_modules_have_one_letter_each() -> None:
    assert len(MODULES) == len({*MODULES.values()})
    for letter, name in MODULES.items():
        assert len(letter) == 1
        __import__(f"sema_runtime{name}")
