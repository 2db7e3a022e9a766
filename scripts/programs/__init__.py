"""Random programs of many forms, and what compares how they are compiled: see __main__.py."""
