"""The compiler: text -> forms -> IR -> Python ast. Pure, but for import hook, cache and command line."""
