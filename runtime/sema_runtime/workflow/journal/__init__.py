"""The files of a run's directory: events, memos, spending, and how they are written."""
