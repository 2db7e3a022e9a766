"""Running a program against an earlier run: recordings, replays, forks."""
