"""What a program in the box may use, built up from nothing: what isn't named here doesn't exist there.

Values, numbers, text, regular expressions, JSON, CSV, TOML, dates as values. No files, network, processes, environment,
imports, Python, clock or randomness: the host grants such things as tools.
"""

from __future__ import annotations

from sema_runtime.catalogue_index import INDEX
from semac.analyze.forms import SPECIAL_FORMS

MODULES = {  # families of builtins, and those of each that are left out
    "lib.collections.hofs": (),
    "lib.collections.list_sets": ("list/shuffle", "list/pick"),  # random
    "lib.collections.list_slices": (),
    "lib.collections.list_stats": (),
    "lib.collections.lists": (),
    "lib.collections.map_entries": (),
    "lib.collections.maps": (),
    "lib.collections.mutable": (),
    "lib.collections.records": (),
    "lib.collections.sorting": (),
    "lib.collections.vectors": (),
    "lib.data.csv": (),
    "lib.data.json": (),
    "lib.data.toml": (),
    "lib.language.predicates": (),
    "lib.language.shorthand": (),
    "lib.language.truth": (),
    "lib.numbers.arithmetic": (),
    "lib.numbers.convert": (),
    "lib.numbers.integers": (),
    "lib.numbers.math": (),
    "lib.numbers.math_functions": ("math/random", "math/random-int"),
    "lib.numbers.typed_arrays": (),
    "lib.text.bytes": (),
    "lib.text.case": (),
    "lib.text.chars": (),
    "lib.text.format": (),
    "lib.text.padding": (),
    "lib.text.regex": (),
    "lib.text.search": (),
    "lib.text.strings": (),
    "lib.text.text": (),
}
NAMES = frozenset((
    "__parameterize", "assert", "assert=", "call-with-values", "error", "gensym", "make-parameter", "raise", "values",
    "println", "print", "display", "newline", "pprint",
    "base64/encode", "base64/decode", "hash/sha256", "hash/md5", "hash/hmac-sha256",
    "diff/unified", "diff/parse", "diff/stat", "diff/hunks", "diff/apply",
    "time/add", "time/date-parts", "time/diff", "time/format", "time/parse",
    "async/spawn", "async/await", "async/run", "async/all", "async/race", "async/resolved", "async/rejected",
    "async/cancel", "async/cancelled?", "async/pending?", "async/resolved?", "async/rejected?", "async/promise?",
    "channel/new", "channel/send", "channel/recv", "channel/try-recv", "channel/close", "channel/closed?",
    "channel/count", "channel/empty?", "channel/full?", "channel?", "__prefill-sem", "__fanout-tagged", "__stages",
    "__spawn-apply", "__spawn-thunks", "__owned-all", "async/race-owned",
))  # fmt: skip
BUILTINS = frozenset(
    name for name, entry in INDEX.items() if name in NAMES or (entry[0] in MODULES and name not in MODULES[entry[0]])
)
# Functions of the runtime that forms become: "module:name", or a whole module.
RUNTIME = frozenset((
    "sema_runtime.lib.collections.lists", "sema_runtime.lib.language.multimethods", "sema_runtime.values.lists",
    "sema_runtime.values.lookup", "sema_runtime.values.matching", "sema_runtime.values.multiple",
    "sema_runtime.values.parameters", "sema_runtime.values.promises", "sema_runtime.values.records",
    "sema_runtime.tasks.callbacks", "sema_runtime.lib.tasks.channels", "sema_runtime.lib.tasks.concurrency",
    "sema_runtime.conditions.describe", "builtins:tuple",
))  # fmt: skip
FORMS = frozenset((  # special forms
    "and", "async", "await", "begin", "case", "cond", "def", "define", "define-record-type", "define-syntax",
    "define-values", "defmacro", "defmethod", "defmulti", "defn", "defun", "delay", "do", "fn", "force", "if", "lambda",
    "let", "let*", "let*-values", "let-values", "letrec", "match", "match*", "or", "parameterize", "progn",
    "quasiquote", "quote", "set!", "throw", "try", "unless", "when", "while",
))  # fmt: skip
ABSENT_FORMS = frozenset(SPECIAL_FORMS) - FORMS  # eval, import, what reaches Python
ENDINGS = ("return", "fail")
OWN = (*ENDINGS, "dir", "apropos", "doc", "*1", "*2", "*3")  # what the box adds to the language

PYTHON = "Python can't be reached from the box"
NO_CLOCK = "there is no clock in the box; times come as data/NAME"
NO_CHANCE = "there is no randomness in the box; random numbers come as data/NAME"
DEFINITIONS = "put the definitions into the program"
HOST = "call one of the tools, if the host has granted one"
INSTEAD = {  # by a name, or by its beginning up to a slash: what to do without it
    "file/": "ask the host for the data; it comes as data/NAME", "http/": HOST,
    "llm/": HOST, "db/": HOST, "sqlite/": HOST, "agent/": HOST, "conversation/": HOST, "mcp/": HOST,
    "defagent": HOST, "deftool": HOST, "prompt": HOST,
    "shell": "programs in the box can't start others", "sys/": "the box knows nothing of the machine it runs on",
    "env": "the box has no environment; settings come as data/NAME", "time": NO_CLOCK, "time/": NO_CLOCK,
    "time-ms": NO_CLOCK, "sleep": "there is no clock in the box",
    "math/random": NO_CHANCE, "math/random-int": NO_CHANCE,
    "random": NO_CHANCE, "rand": NO_CHANCE, "rand-int": NO_CHANCE, "shuffle": NO_CHANCE, "list/shuffle": NO_CHANCE,
    "list/pick": NO_CHANCE, "eval": "write the form itself, or a function", "load": DEFINITIONS, "import": DEFINITIONS,
    "require": DEFINITIONS, "module": DEFINITIONS, "macroexpand": "the host can show expansions: sema compile --dump",
    "breakpoint": "print what you want to see", "py/": PYTHON,
}  # fmt: skip


def restrict_forms() -> None:
    """Has the compiler of this process know the forms of the box alone."""
    for name in ABSENT_FORMS:
        SPECIAL_FORMS.pop(name, None)


def advice(name: str) -> str | None:
    """What to do in place of something that the box lacks."""
    family, slash, _ = name.partition("/")
    if name[:1] == "." and name[1:2].isdecimal():
        return f"a number has a digit before its point: 0{name}"
    is_method = name[:1] == "." and name[1:2].isidentifier()
    return INSTEAD.get(name) or INSTEAD.get(family + slash if slash else name) or (PYTHON if is_method else None)
