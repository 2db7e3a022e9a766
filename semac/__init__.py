"""The compiler: text -> forms -> IR -> Python ast. Pure, but for import hook, cache and command line."""

__version__ = "0.1.0"
