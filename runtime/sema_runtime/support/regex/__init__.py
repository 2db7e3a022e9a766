"""The engine behind `regex/*`: the reference's syntax, translated to `re` or run in linear time."""
