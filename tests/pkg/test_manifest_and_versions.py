"""`sema.toml`, `sema.lock`, versions and specs of packages."""

from __future__ import annotations

from pathlib import Path

import pytest

from semac.pkg import lock as locks
from semac.pkg.errors import PackageError
from semac.pkg.lock import Locked
from semac.pkg.manifest import Manifest
from semac.pkg.specs import Spec, parsed
from semac.pkg.versions import newest

TEXT = """\
# about us
[package]
name = "shop"   # ours

[deps]
plain = "1.0.0"
"github.com/a/b" = "v1"  # pinned

[fmt]
width = 100
"""


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("http-helpers", Spec("registry", "http-helpers", "")),
        ("http-helpers@1.2.0", Spec("registry", "http-helpers", "1.2.0")),
        ("github.com/a/b", Spec("git", "github.com/a/b", "main")),
        ("github.com/a/b@feature/x", Spec("git", "github.com/a/b", "feature/x")),
        ("py:httpx", Spec("python", "httpx", "")),
        ("py:httpx>=0.27", Spec("python", "httpx", ">=0.27")),
        ("py:httpx==0.28.1", Spec("python", "httpx", "==0.28.1")),
    ],
)
def test_what_specs_name(text: str, spec: Spec) -> None:
    assert parsed(text) == spec


@pytest.mark.parametrize(
    "text",
    [
        *("", "/abs/path", "a\\b", "https://github.com/a/b", "git@github.com:a/b", "c:/x", "github.com/../etc@main"),
        *("github.com/a/..", "./a/b", "../a", ".hidden/x", "github.com//b", "github.com/a/b@", "github.com/a/b@-x"),
        *("github.com/a/b@--upload-pack=x", "github.com/a/b@a..b", "github.com/a/b@a b", "github.com/a/b@x.lock"),
        *("github.com/a/b\0c", "github.com/a/b@\n", "a/b", "-x", "github.com/-x", "name@1.0;rm", "x" * 300),
        *("py:", "py:-x", "py:a b", "py:x @ file:///etc", "py:x>=1; os_name", "py:--index-url", "py:git+https://x"),
    ],
)
def test_specs_that_are_refused(text: str) -> None:
    with pytest.raises(PackageError, match="invalid package spec"):
        parsed(text)


@pytest.mark.parametrize(
    ("wanted", "version"),
    [
        *(("", "2.0.0"), ("*", "2.0.0"), ("1.2.3", "1.2.3"), ("1.2", None), ("9.9.9", None), ("^1.2", "1.10.0")),
        *(("~1.2", "1.2.4"), ("~1", "1.10.0"), (">=1.10", "2.0.0"), ("^0.2.1", "0.2.9"), ("^0.2", "0.2.9")),
        *(("2.1.0-beta.2", "2.1.0-beta.2"), ("^2.1.0-beta", "2.1.0-beta.10"), ("^3", None), ("nonsense", None)),
    ],
)
def test_the_newest_version_that_fits(wanted: str, version: str | None) -> None:
    there = ["1.2.3", "1.2.4", "1.10.0", "2.0.0", "2.1.0-beta.2", "2.1.0-beta.10", "0.2.0", "0.2.9", "0.3.0", "odd"]
    assert newest(there, wanted) == version


def test_edits_keep_all_other_lines() -> None:
    manifest = Manifest("sema.toml", TEXT)
    added = manifest.with_spec(Spec("registry", "other", "2.0.0")).with_spec(Spec("git", "github.com/a/b", "v2"))
    assert added.text == TEXT.replace('"github.com/a/b" = "v1"  # pinned', '"github.com/a/b" = "v2"\nother = "2.0.0"')
    python = added.with_spec(Spec("python", "httpx", ">=0.27"))
    assert python.text == f'{added.text}\n[python]\nhttpx = ">=0.27"\n'
    assert [spec.name for spec in python.specs] == ["plain", "github.com/a/b", "other", "httpx"]
    without = python.without(Spec("python", "httpx", "")).without(Spec("registry", "other", ""))
    assert [spec.name for spec in without.specs] == ["plain", "github.com/a/b"]
    assert Manifest("sema.toml", "").with_spec(Spec("registry", "x", "1.0.0")).text == '[deps]\nx = "1.0.0"\n'


@pytest.mark.parametrize("text", ['deps = {plain = "1"}\n', 'deps.plain = "1"\n'])
def test_a_table_written_in_another_way_is_not_damaged(text: str) -> None:
    with pytest.raises(PackageError, match="can't be edited; change it by hand"):
        Manifest("sema.toml", text).without(Spec("registry", "plain", ""))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[deps\n", "sema.toml is not TOML"),
        ("deps = 1\n", r"deps must be a table, \[deps\]"),
        ("[deps]\na = 1\n", r"a in \[deps\] must be a text"),
        ('[deps]\n"../a" = "1"\n', "path traversal not allowed"),
        ('[deps]\n"github.com/a/b" = "-x"\n', "a ref can't begin with '-'"),
        ('[python]\n"a b" = "*"\n', "invalid package spec"),
    ],
)
def test_manifests_that_are_refused(text: str, message: str) -> None:
    with pytest.raises(PackageError, match=message):
        Manifest("sema.toml", text)


def test_a_lock_is_read_as_it_was_written(tmp_path: Path) -> None:
    lock = {
        "github.com/a/b": Locked("git", ref="v1", commit="0123456789abcdef"),
        "plain": Locked("registry", version="1.0.0", registry="https://x.example", checksum="ff"),
        "py:httpx": Locked("python", version="0.28.1"),
    }
    path = tmp_path / "sema.lock"
    path.write_text(locks.text_of(lock))
    assert locks.read(str(path)) == lock
    assert locks.read(str(tmp_path / "none")) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "is not TOML"),
        ("lock_version = 7\n", "lock_version 7, this semac reads 1"),
        ('lock_version = 1\n[packages."a/../b"]\nsource = "git"\nref = "x"\ncommit = "ab"\n', "path traversal"),
        ('lock_version = 1\n[packages."h.x/b"]\nsource = "git"\nref = "-x"\ncommit = "ab"\n', "can't begin with '-'"),
        (
            'lock_version = 1\n[packages."h.x/b"]\nsource = "git"\nref = "x"\ncommit = "--exec"\n',
            "can't begin with '-'",
        ),
        ('lock_version = 1\n[packages.a]\nsource = "ftp"\n', "the entry of a can't be read"),
        ("lock_version = 1\npackages = 3\n", "packages is no table"),
    ],
)
def test_locks_that_are_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "sema.lock"
    path.write_text(text)
    with pytest.raises(PackageError, match=message):
        locks.read(str(path))
