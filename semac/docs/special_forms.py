"""Documentation of the special forms, of the macros that act like them, and of names that stand for values.

The texts are in `special_forms.md`. FORMS and VALUES map a name to its text there, without the fences of code: the
shapes of the form (one a line), a blank line, its description, a blank line, and examples as `expression => value`.
"""

from __future__ import annotations

from pathlib import Path


def _texts(section: str) -> dict[str, str]:
    """Returns name → text for the entries `### name` of one section of the file."""
    texts = {}
    for entry in section.split("\n### ")[1:]:
        name, _, text = entry.partition("\n\n")
        texts[name] = "\n".join(line for line in text.splitlines() if not line.startswith("```")).strip()
    return texts


_, _forms, _values = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").split("\n## ")
FORMS = _texts(_forms)
VALUES = _texts(_values)
