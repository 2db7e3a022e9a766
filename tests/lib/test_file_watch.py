"""fs/watch: real changes of real files, told by the system and found by looking."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from sema_runtime import capabilities
from sema_runtime.conditions.describe import condition_map
from sema_runtime.lib.files import file_watch
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.session import Session

Event = tuple[str, str]


def not_installed(*_: Any) -> Any:
    raise ImportError("watchfiles")
    yield


@pytest.fixture(params=["told", "seen"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty current directory, for both ways of watching."""
    from sema_runtime.tasks import scheduler

    if request.param == "seen":
        monkeypatch.setattr(file_watch, "_told", not_installed)
        monkeypatch.setattr(file_watch, "LOOK", 0.01)
    monkeypatch.chdir(tmp_path)
    yield Path(os.path.realpath(tmp_path))
    for handle in list(file_watch.watchers.open):
        file_watch.fs_unwatch(handle)
    scheduler._per_thread.scheduler = None


def events(watcher: int, folder: Path) -> list[Event]:
    """(kind, path below the folder) of what has happened."""
    found = file_watch.fs_watch_events(watcher)
    return [(one["kind"].name, os.path.relpath(path, folder)) for one in found for path in one["paths"]]


class Log:
    """What a watcher has told so far."""

    def __init__(self, watcher: int, folder: Path) -> None:
        self.watcher = watcher
        self.folder = folder
        self.seen: list[Event] = []

    def until(self, *expected: Event) -> list[Event]:
        """Waits for these events; all that were there."""
        deadline = time.monotonic() + 20
        while not set(expected) <= set(self.seen):
            assert time.monotonic() < deadline, self.seen
            time.sleep(0.005)
            self.seen += events(self.watcher, self.folder)
        seen, self.seen = self.seen, []
        return seen


def test_files_are_made_changed_renamed_and_removed(folder: Path) -> None:
    (folder / "old").write_text("x")
    log = Log(file_watch.fs_watch("."), folder)
    (folder / "a").write_text("1")
    seen = log.until(("create", "a"))
    assert ("create", "old") not in seen and ("modify", "old") not in seen
    (folder / "old").write_text("longer")
    log.until(("modify", "old"))
    (folder / "a").rename(folder / "b")
    seen = log.until(("remove", "a"), ("create", "b"))
    (folder / "b").unlink()
    log.until(("remove", "b"))


def test_directories_below(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    deep, flat = file_watch.fs_watch("."), file_watch.fs_watch(".", Map({keyword("recursive"): False}))
    (folder / "deep" / "er" / "a").write_text("1")
    Log(deep, folder).until(("create", "deep/er/a"))
    (folder / "top").write_text("1")
    seen = Log(flat, folder).until(("create", "top"))
    assert {path for _, path in seen} <= {"top", "deep"}
    (folder / "new").mkdir()
    log = Log(deep, folder)
    log.until(("create", "new"))
    (folder / "new" / "b").write_text("1")
    log.until(("create", "new/b"))


def test_one_file_also_when_an_editor_replaces_it(folder: Path) -> None:
    (folder / "a").write_text("1")
    log = Log(file_watch.fs_watch("a"), folder)
    for text in ("22", "333"):
        (folder / "other").write_text(text)
        (folder / "other").replace(folder / "a")
        deadline = time.monotonic() + 20
        while not (seen := events(log.watcher, folder)):
            assert time.monotonic() < deadline
        assert {path for _, path in seen} == {"a"}


def test_after_unwatch_the_handle_is_gone(folder: Path) -> None:
    watcher = file_watch.fs_watch(".")
    thread = file_watch.watchers.get("test", watcher).thread
    file_watch.fs_unwatch(watcher)
    file_watch.fs_unwatch(watcher)
    thread.join(20)
    assert not thread.is_alive()
    with pytest.raises(SemaError, match=rf"^fs/watch-events: no such watcher {watcher}$"):
        file_watch.fs_watch_events(watcher)
    for use in (file_watch.fs_unwatch, file_watch.fs_watch_events):
        with pytest.raises(SemaError, match=r"^expected integer \(watcher handle\), got string$"):
            use("1")


def test_too_many_events_are_counted(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "MAX_EVENTS", 3)
    watcher = file_watch.fs_watch(".")
    for number in range(10):
        (folder / f"file{number}").write_text("x")
    wait(lambda: file_watch.watchers.get("test", watcher).dropped >= 7)
    found = file_watch.fs_watch_events(watcher)
    assert len(found) == 4
    last = list(found)[-1]
    assert [to_text(last["kind"]), to_text(last["paths"]), last["dropped"] >= 7] == [":overflow", "()", True]
    assert to_text(file_watch.fs_watch_events(watcher)) == "()"


def wait(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_watchers_are_limited(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_watch, "MAX_WATCHERS", len(file_watch.watchers) + 1)
    first = file_watch.fs_watch(".")
    with pytest.raises(SemaError, match="fs/watch: too many live watcher handles"):
        file_watch.fs_watch(".")
    file_watch.fs_unwatch(first)
    file_watch.fs_watch(".")


def test_bad_arguments(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SemaError, match=r"^fs/watch missing: no such file or directory$") as raised:
        file_watch.fs_watch("missing")
    assert condition_map(raised.value)["type"] is keyword("io")
    with pytest.raises(SemaError, match=r"^expected string, got int$"):
        file_watch.fs_watch(5)
    with pytest.raises(SemaError, match=r"^expected map, got int$"):
        file_watch.fs_watch(".", 5)
    monkeypatch.setattr(capabilities, "allowed", [str(folder)])
    with pytest.raises(PermissionDenied, match="fs/watch — path '/' is outside allowed directories"):
        file_watch.fs_watch("/")
    monkeypatch.setattr(capabilities, "denied", {"fs-read"})
    with pytest.raises(PermissionDenied, match="fs/watch requires 'fs-read' capability"):
        file_watch.fs_watch(".")


def test_in_a_program_with_tasks(folder: Path) -> None:
    source = """
    (define w (fs/watch "."))
    (define (wait-for kind)
      (let ((found (filter (fn (e) (= (:kind e) kind)) (fs/watch-events w))))
        (if (null? found) (begin (async/sleep 5) (wait-for kind)) (:kind (car found)))))
    (define waiting (async (wait-for :create)))
    (file/write "a.txt" "1")
    (await waiting)
    """
    assert to_text(Session().run(source)) == ":create"


def test_a_program_that_watches_can_end(tmp_path: Path) -> None:
    """Without unwatching, by its last form and by an error."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
    for source, code in [('(fs/watch ".") (println "end")', 0), ('(fs/watch ".") (error "end")', 1)]:
        command = [sys.executable, "-m", "semac.cli.entry", "-e", source]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, timeout=20)
        assert done.returncode == code
        assert "end" in done.stdout + done.stderr
        assert "fatal" not in done.stderr.lower() and "Traceback" not in done.stderr
