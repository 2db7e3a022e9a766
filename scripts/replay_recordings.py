"""Replays recorded traffic of real servers (VCR files) through our wires, and compares with the official SDKs.

    python scripts/replay_recordings.py FOLDER [--split BYTES] [--show N]

FOLDER is searched for `cassettes/**/*.yaml` and `.yaml.gz`. Streams of up to --split bytes (default 4000) are split at
every byte; longer ones at the bytes around each end of line. Prints counts for each wire, and the first N differences
of each kind. Needs the extra `dev-llm`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter, defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support" / "llm"))

from llm_support import problems
from recorded import Recording, events, in_folder, our_error, ours, rebuilt, their_error, theirs
from request_readers import Beyond, comparable


class Tally:
    """Counts by (wire, what) and examples of each kind of difference."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.examples: dict[tuple[str, str], list[str]] = defaultdict(list)

    def count(self, recording: Recording, outcome: str, example: str = "") -> None:
        self.counts[recording.wire, outcome] += 1
        if example:
            self.examples[recording.wire, outcome].append(f"{recording.source} ({recording.host}): {example}")


def check(recording: Recording, tally: Tally, limit: int) -> None:
    tally.count(recording, "all")
    if recording.status >= 300:
        check_error(recording, tally)
    else:
        check_reply(recording, tally, limit)
    check_request(recording, tally)


def check_error(recording: Recording, tally: Tally) -> None:
    mine, official = our_error(recording), their_error(recording)
    same = mine == official
    tally.count(recording, "error same" if same else "error DIFFERS", "" if same else f"{mine!r} / {official!r}")


def check_reply(recording: Recording, tally: Tally, limit: int) -> None:
    kind = "stream" if recording.stream else "reply"
    try:
        official = theirs(recording)
    except Exception as error:
        tally.count(recording, f"{kind} the SDK refuses", f"{type(error).__name__}: {error}"[:200])
        return
    try:
        mine = ours(recording)
    except Exception as error:
        tally.count(recording, f"{kind} FAILS", f"{type(error).__name__}: {error}; SDK: {official}"[:300])
        return
    same = mine == official
    tally.count(recording, f"{kind} same" if same else f"{kind} DIFFERS", "" if same else f"\n  {mine}\n  {official}")
    if recording.stream:
        check_splits(recording, tally, limit)


def check_splits(recording: Recording, tally: Tally, limit: int) -> None:
    data = recording.reply
    whole = events(recording, [data])
    points = range(1, len(data))
    if len(data) > limit:
        ends = [place for place, byte in enumerate(data) if byte in b"\r\n" or byte > 127][:200]
        points = sorted({p for end in ends for p in (end, end + 1, end + 2)})  # type: ignore[assignment]
    wrong = [point for point in points if events(recording, [data[:point], data[point:]]) != whole]
    if events(recording, [data[i : i + 1] for i in range(len(data))]) != whole:
        wrong.append(-1)
    tally.counts[recording.wire, "splits tried"] += len(points) + 1
    if wrong:
        tally.count(recording, "splits DIFFER", str(wrong[:5]))


def check_request(recording: Recording, tally: Tally) -> None:
    if recording.status < 300:
        refusals = problems(recording.wire, recording.body)
        tally.count(
            recording, "request judged REFUSED" if refusals else "request judged good", "; ".join(refusals)[:300]
        )
    try:
        request = comparable(recording.wire, rebuilt(recording))
        wanted = comparable(recording.wire, recording.body)
    except Beyond as beyond:
        tally.count(recording, f"not ours: {str(beyond)[:60]}")
        return
    if request == wanted:
        tally.count(recording, "request same")
        return
    keys = [key for key in {*request, *wanted} if request.get(key) != wanted.get(key)]
    if not any(key in request for key in keys):
        tally.count(recording, f"not ours: {', '.join(sorted(keys))}"[:60])
        return
    shown = "".join(f"\n  {key}: {str(request.get(key))[:300]}\n  {key}: {str(wanted.get(key))[:300]}" for key in keys)
    tally.count(recording, "request DIFFERS", shown)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--split", type=int, default=4000)
    parser.add_argument("--show", type=int, default=3)
    options = parser.parse_args()
    tally = Tally()
    for recording in in_folder(options.folder):
        check(recording, tally, options.split)
    for (wire, outcome), count in sorted(tally.counts.items()):
        print(f"{wire:10} {outcome:60} {count}")
    for (wire, outcome), examples in tally.examples.items():
        print(f"\n{wire} {outcome}:")
        for example in examples[: options.show]:
            print("-", example)
    return any(word in outcome for _, outcome in tally.counts for word in ("DIFFER", "FAILS"))


if __name__ == "__main__":
    sys.exit(main())
