"""The lexer of Pygments for Sema; an entry point, so that only Pygments imports it."""

from __future__ import annotations

from typing import Any, ClassVar

from pygments.lexer import RegexLexer, bygroups, include, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text, Whitespace

from sema_runtime.catalogue_index import INDEX
from semac.docs.special_forms import FORMS
from semac.syntax.literals import CONSTANTS, CONTINUES

END = rf"(?![{CONTINUES}])"
SYMBOL = rf"[A-Za-z_*/!?<>=&%^~.+\-\x80-\U0010ffff][{CONTINUES}]*"
REAL = r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
PART = rf"(?:\d+/\d+|{REAL})"
DEFINES = "|".join(sorted((name for name in FORMS if name.startswith("def")), key=len, reverse=True))


class SemaLexer(RegexLexer):
    """Highlights Sema programs."""

    name = "Sema"
    aliases: ClassVar[list[str]] = ["sema"]
    filenames: ClassVar[list[str]] = ["*.sema"]
    mimetypes: ClassVar[list[str]] = ["text/x-sema"]

    tokens: ClassVar[dict[str, Any]] = {
        "root": [
            (r"\A#!.*", Comment.Hashbang),
            include("forms"),
            (r"[}]", Punctuation),
            (r".", Text),
        ],
        "forms": [
            (r"\s+", Whitespace),
            (r";.*", Comment.Single),
            (r'(f)(")', bygroups(String.Affix, String), "f-string"),  # type: ignore[no-untyped-call]
            (r'#"', String.Regex, "regex"),
            (r'"', String, "string"),
            (rf"#\\(?:(?:space|newline|tab|return|nul){END}|.)", String.Char),
            (r"#[tf]", Keyword.Constant),
            (rf"(?:#[xXbBoOdDeEiI])+[+-]?[0-9a-fA-F]+(?:[./][0-9a-fA-F]+)?{END}", Number),
            (rf"(?:-?{REAL})?[+-]{PART}?i{END}|-?{PART}i{END}", Number),
            (r"-?\d+/\d+", Number),
            (r"-?\d+(?:\.\d+(?:[eE][+-]?\d+)?|[eE][+-]?\d+)", Number.Float),
            (r"-?\d+", Number.Integer),
            (rf":[{CONTINUES}]+", String.Symbol),
            (r"#u8(?=\()|#(?=\()", Punctuation),
            (r",@|['`,@]", Operator),
            (
                rf"(\()({DEFINES})(\s+)(\(?)({SYMBOL})",
                bygroups(  # type: ignore[no-untyped-call]
                    Punctuation, Keyword.Declaration, Whitespace, Punctuation, Name.Function
                ),
            ),
            (r"[()\[\]]", Punctuation),
            (r"\{", Punctuation, "map"),
            (words(tuple(CONSTANTS), suffix=END), Keyword.Constant),
            (words(tuple(FORMS), suffix=END), Keyword),
            (words(tuple(name for name in INDEX if not name.startswith("__")), suffix=END), Name.Builtin),
            (SYMBOL, Name.Variable),
        ],
        "map": [
            (r"\}", Punctuation, "#pop"),
            include("forms"),
            (r".", Text),
        ],
        "string": [
            (r"\\.", String.Escape),
            (r'[^"\\]+', String),
            (r'"', String, "#pop"),
        ],
        "regex": [
            (r'\\.|[^"\\]+', String.Regex),
            (r'"', String.Regex, "#pop"),
        ],
        "f-string": [
            (r"\\.", String.Escape),
            (r"\$\{", String.Interpol, "interpolation"),
            (r'[^"\\$]+|\$', String),
            (r'"', String, "#pop"),
        ],
        "interpolation": [
            (r"\}", String.Interpol, "#pop"),
            include("forms"),
            (r".", Text),
        ],
    }
