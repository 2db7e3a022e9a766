"""`sema test`: runs tests with pytest."""

from __future__ import annotations

import sys

from sema_runtime.support.visible import tell

HELP = """\
Usage: sema test [FILE|FOLDER|FILE::TEST]... [OPTIONS OF PYTEST]

  Run the tests in test_*.sema and test_*.py below the folders, by default
  below the current one.

  Frequent options, all of pytest's are taken:
    -k WORDS       tests whose names have these words: -k "mail and not slow"
    -m MARK        tests with a mark: {:marks [:slow]} of deftest
    -x             stop at the first failure
    --lf           those that failed last time
    -n 4           in four processes (with pytest-xdist)
    -vv            show differences in full
    --cov=FOLDER   measure coverage (with pytest-cov; for .sema files too)
    --help-pytest  all options of pytest

  Needs pytest: pip install 'semac[test]'
"""
LOADED_BEFORE = "ignore:Module already imported:pytest.PytestAssertRewriteWarning"  # semac is: this is a part of it


def main(args: list[str]) -> int:
    """Runs pytest over the arguments and returns its exit status; no tests at all is a failure too."""
    if args[:1] in (["--help"], ["-h"]):
        print(HELP, end="")
        return 0
    try:
        import pytest
    except ImportError:
        tell("Error: sema test needs pytest\n  hint: pip install 'semac[test]'")
        return 1
    given = ["--help" if arg == "--help-pytest" else arg for arg in args]
    sys.path.insert(0, "")  # modules beside the tests, as `python -m pytest` has it
    plugin: list[str] = [] if _is_entry_point() else ["-p", "semac.testing.plugin"]
    return int(pytest.main([*plugin, "-W", LOADED_BEFORE, *given]))


def _is_entry_point() -> bool:
    """Whether pytest finds the plugin by itself: not where semac runs uninstalled, or loading them is turned off."""
    import os
    from importlib.metadata import entry_points

    if os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        return False
    return any(entry.value == "semac.testing.plugin" for entry in entry_points(group="pytest11"))
