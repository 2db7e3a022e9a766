"""Running a workflow: its life, steps, memos, servers and spending."""
