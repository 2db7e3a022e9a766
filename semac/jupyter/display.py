"""How values are shown in a notebook: MIME bundles."""

from __future__ import annotations

import html
import sys
from base64 import b64encode
from collections.abc import Mapping, Sequence
from typing import Any

from sema_runtime.values.atoms import Keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.printer import display, pretty

METHODS = {  # of IPython's protocol
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_latex_": "text/latex",
    "_repr_json_": "application/json",
}
MOST_CHARACTERS = 20_000
MOST_ROWS, MOST_COLUMNS = 200, 30


def bundle(value: Any) -> dict[str, Any]:
    """MIME type → data for a value; `text/plain` is always there."""
    data = {"text/plain": plain(value)}
    if isinstance(value, type):
        return data
    if callable(getattr(type(value), "_repr_mimebundle_", None)):
        made = _quietly(value._repr_mimebundle_)
        data.update(made[0] if isinstance(made, tuple) else made or {})
    for method, mime in METHODS.items():
        if mime not in data and callable(getattr(type(value), method, None)):
            made = _quietly(getattr(value, method))
            made = made[0] if isinstance(made, tuple) else made
            if made is not None:
                data[mime] = b64encode(made).decode() if isinstance(made, bytes) else made
    if _is_figure(value):
        data["image/png"] = figure_png(value)
    rows = table_rows(value)
    if rows is not None and "text/html" not in data:
        data["text/html"] = table_html(*rows)
    return data


def plain(value: Any) -> str:
    """The printed value; a long one is cut, and says how to see all of it."""
    text = pretty(value)
    if len(text) <= MOST_CHARACTERS:
        return text
    return f"{text[:MOST_CHARACTERS]}\n… {len(text) - MOST_CHARACTERS} more characters; (println *1) prints all"


def _quietly(method: Any) -> Any:
    """What a display method gives; None where it fails: a value that can't be drawn is still printed."""
    try:
        return method()
    except Exception:
        return None


def table_rows(value: Any) -> tuple[list[Any], list[Any]] | None:
    """(columns, rows) of a list of two or more maps with atoms as keys; None for anything else."""
    if isinstance(value, List):
        items: Sequence[Any] = value.items
    elif isinstance(value, (tuple, list)):
        items = value
    else:
        return None
    if len(items) < 2 or not all(isinstance(item, (Map, HashMap, Mapping)) for item in items[:MOST_ROWS]):
        return None
    columns: dict[Any, None] = {}
    shown = [dict(_pairs(item)) for item in items[:MOST_ROWS]]
    for row in shown:
        columns.update(dict.fromkeys(row))
    if not columns or len(columns) > MOST_COLUMNS:
        return None
    return list(columns), [[row.get(column) for column in columns] for row in shown] + [[None]] * max(
        0, len(items) - MOST_ROWS
    )


def _pairs(item: Any) -> Any:
    return item.pairs() if hasattr(item, "pairs") else item.items()


def table_html(columns: list[Any], rows: list[list[Any]]) -> str:
    """A table of HTML; rows after the 200th are counted only."""
    head = "".join(f"<th>{html.escape(_label(column))}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td>{'' if cell is None else html.escape(display(cell))}</td>" for cell in row) + "</tr>"
        for row in rows[:MOST_ROWS]
    )
    more = f"<caption>{len(rows) - MOST_ROWS} more rows</caption>" if len(rows) > MOST_ROWS else ""
    return f"<table>{more}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _label(column: Any) -> str:
    return column.name if isinstance(column, Keyword) else display(column)


# Figures of matplotlib


def _is_figure(value: Any) -> bool:
    figures = sys.modules.get("matplotlib.figure")
    return figures is not None and isinstance(value, figures.Figure)


def figure_png(figure: Any) -> str:
    """A figure as base64 of PNG."""
    from io import BytesIO

    buffer = BytesIO()
    figure.savefig(buffer, format="png", bbox_inches="tight")
    return b64encode(buffer.getvalue()).decode()


def open_figures() -> list[Any]:
    """The figures that pyplot holds; they are closed there."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None:
        return []
    figures = [pyplot.figure(number) for number in pyplot.get_fignums()]
    pyplot.close("all")
    return figures
