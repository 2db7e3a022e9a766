"""`sema pkg` with real git repositories and a registry on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from registry_server import TOKEN, RegistryServer, archive, registry
from wheels import build, run

SEMA = [sys.executable, "-m", "semac.cli.entry"]
TOOL = {
    "sema.toml": '[package]\nname = "tool"\nentrypoint = "src/tool.sema"\n[deps]\n"example.com/owner/dep" = "main"\n',
    "src/tool.sema": '(import "example.com/owner/dep")\n(define (tool) (str "tool of " (dep)))',
}
DEP = {"package.sema": '(define (dep) "dep 1")'}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


class Place:
    """A project with a home of its own, where https://example.com/ is a folder of repositories."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.repositories = folder / "repositories"
        self.project = folder / "project"
        self.home = folder / "home"
        self.packages = self.home / "packages"
        self.project.mkdir()
        config = f'[url "file://{self.repositories}/"]\n\tinsteadOf = https://example.com/\n'
        write(folder, {"gitconfig": f"{config}[user]\n\tname = a\n\temail = a@b.c\n[init]\n\tdefaultBranch = main\n"})
        self.environment = {"SEMA_HOME": str(self.home), "GIT_CONFIG_GLOBAL": str(folder / "gitconfig")}

    def git(self, name: str, *words: str) -> str:
        return run("git", "-C", self.repositories / name, *words, cwd=self.folder, **self.environment).strip()

    def repository(self, name: str, files: dict[str, str], tag: str = "") -> str:
        """Commits files to a repository, which is made where there is none; the commit."""
        folder = self.repositories / name
        if not folder.exists():
            folder.mkdir(parents=True)
            self.git(name, "init", "--quiet")
        write(folder, files)
        self.git(name, "add", "--all")
        self.git(name, "commit", "--quiet", "--message", "change")
        if tag:
            self.git(name, "tag", tag)
        return self.git(name, "rev-parse", "HEAD")

    def sema(self, *words: str, fails: bool = False, **environment: str) -> str:
        return run(*SEMA, *words, cwd=self.project, fails=fails, **{**self.environment, **environment})

    def pkg(self, *words: str, fails: bool = False, **environment: str) -> str:
        shown = self.sema("pkg", *words, fails=fails, **environment)
        assert "Traceback" not in shown, shown
        return shown

    def files(self) -> dict[str, bytes]:
        """All files of the project and of installed packages."""
        paths = [*self.project.rglob("*"), *self.packages.rglob("*")]
        return {str(path): path.read_bytes() for path in paths if path.is_file() and path.name != ".lock"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.fixture
def with_tool(place: Place) -> Place:
    place.repository("owner/tool", TOOL, "v1")
    place.repository("owner/dep", DEP)
    place.pkg("init")
    place.pkg("add", "example.com/owner/tool@v1")
    return place


@pytest.fixture
def server() -> Iterator[RegistryServer]:
    with registry() as running:
        yield running


# Packages of git


def test_a_package_is_added_with_what_it_needs_and_imported(place: Place) -> None:
    commit = place.repository("owner/tool", TOOL, "v1")
    needed = place.repository("owner/dep", DEP)
    assert place.pkg("init") == "✓ Created sema.toml\n"
    assert "exists already" in place.pkg("init", fails=True)
    assert place.pkg("add", "example.com/owner/tool@v1") == (
        "✓ Installed example.com/owner/tool → v1\n✓ Installed example.com/owner/dep → main\n"
        '✓ Added example.com/owner/tool = "v1" to sema.toml\n'
    )
    assert '[deps]\n"example.com/owner/tool" = "v1"\n' in (place.project / "sema.toml").read_text()
    lock = (place.project / "sema.lock").read_text()
    assert f'[packages."example.com/owner/dep"]\nsource = "git"\nref = "main"\ncommit = "{needed}"\n' in lock
    assert f'ref = "v1"\ncommit = "{commit}"\n' in lock
    meta = json.loads((place.packages / "example.com/owner/tool/.sema-pkg.json").read_text())
    assert (meta["source"], meta["ref"], meta["commit"]) == ("git", "v1", commit)
    write(place.project, {"main.sema": '(import "example.com/owner/tool") (println (tool))'})
    assert place.sema("main.sema") == "tool of dep 1\n"
    listed = json.loads(place.pkg("--json", "list"))
    assert [package["name"] for package in listed["packages"]] == ["example.com/owner/dep", "example.com/owner/tool"]


def test_a_locked_install_gives_the_same_commits_elsewhere(with_tool: Place) -> None:
    with_tool.repository("owner/dep", {"package.sema": '(define (dep) "dep 2")'})
    again = {"SEMA_HOME": str(with_tool.folder / "other home")}
    with_tool.pkg("install", "--locked", **again)
    write(with_tool.project, {"main.sema": '(import "example.com/owner/tool") (println (tool))'})
    assert with_tool.sema("main.sema", **again) == "tool of dep 1\n"
    shown = with_tool.pkg("update", **again)
    assert shown.startswith("✓ Updated example.com/owner/dep: main ")
    assert with_tool.sema("main.sema", **again) == "tool of dep 2\n"
    assert "Everything is up to date" in with_tool.pkg("update")
    assert "is not in" in with_tool.pkg("update", "nothing", fails=True)


def test_a_lock_that_disagrees_is_refused(with_tool: Place) -> None:
    lock = with_tool.project / "sema.lock"
    manifest = with_tool.project / "sema.toml"
    whole, named = lock.read_text(), manifest.read_text()
    manifest.write_text(named.replace('"v1"', '"main"'))
    shown = with_tool.pkg("install", "--locked", fails=True)
    assert (
        "sema.lock disagrees with sema.toml:\n  example.com/owner/tool is main in sema.toml and v1 in sema.lock"
        in shown
    )
    manifest.write_text(named)
    lock.write_text(whole + '\n[packages.orphan]\nsource = "registry"\nversion = "1.0.0"\n')
    assert "orphan is in sema.lock, and nothing needs it" in with_tool.pkg("install", "--locked", fails=True)
    lock.write_text(whole.partition('[packages."example.com/owner/tool"]')[0])
    assert "example.com/owner/tool is not in sema.lock" in with_tool.pkg("install", "--locked", fails=True)
    lock.unlink()
    assert "there is no sema.lock" in with_tool.pkg("install", "--locked", fails=True)
    with_tool.pkg("install")
    assert lock.read_text() == whole


def test_a_commit_that_is_gone_is_said(with_tool: Place) -> None:
    with_tool.git("owner/dep", "commit", "--quiet", "--amend", "--message", "other")
    with_tool.git("owner/dep", "reflog", "expire", "--expire=now", "--all")
    with_tool.git("owner/dep", "gc", "--quiet", "--prune=now")
    shown = with_tool.pkg("install", "--locked", fails=True, SEMA_HOME=str(with_tool.folder / "other"))
    assert "of sema.lock is gone from https://example.com/owner/dep; sema pkg update" in shown
    assert list((with_tool.folder / "other" / "packages").glob("[!.]*")) == []


def test_a_package_is_removed_with_what_only_it_needed(with_tool: Place) -> None:
    assert with_tool.pkg("remove", "tool") == "✓ Removed example.com/owner/tool\n"
    assert (with_tool.project / "sema.toml").read_text().endswith("[deps]\n")
    assert "packages" not in (with_tool.project / "sema.lock").read_text()
    assert not (with_tool.packages / "example.com/owner/tool").exists()
    assert "is not installed" in with_tool.pkg("remove", "tool", fails=True)
    assert with_tool.pkg("remove", "dep") == "✓ Removed example.com/owner/dep\n"
    assert with_tool.pkg("list") == "No packages installed.\n"
    assert not (with_tool.packages / "example.com").exists()


def test_refs_and_repositories_that_are_not_there(place: Place) -> None:
    place.repository("owner/dep", DEP, "v1")
    place.pkg("init")
    before = place.files()
    assert "has no branch, tag or commit 'v9': there are main, v1" in place.pkg(
        "add", "example.com/owner/dep@v9", fails=True
    )
    assert "git fetch of example.com/owner/none failed" in place.pkg("add", "example.com/owner/none", fails=True)
    commit = place.git("owner/dep", "rev-parse", "HEAD")
    assert place.files() == before
    place.pkg("add", f"example.com/owner/dep@{commit}")


def test_changes_of_a_package_are_not_lost(with_tool: Place) -> None:
    file = with_tool.packages / "example.com/owner/dep/package.sema"
    file.write_text('(define (dep) "mine")')
    with_tool.repository("owner/dep", {"package.sema": '(define (dep) "dep 2")'})
    assert "has been changed since it was installed" in with_tool.pkg("update", fails=True)
    assert "has been changed since it was installed" in with_tool.pkg("remove", "dep", fails=True)
    assert "mine" in file.read_text()
    with_tool.pkg("update", "--force")
    assert "dep 2" in file.read_text()
    write(with_tool.packages / "example.com/owner/own", {"package.sema": ""})
    with_tool.repository("owner/own", DEP)
    assert "was not installed by sema pkg" in with_tool.pkg("add", "example.com/owner/own", fails=True)


def test_packages_that_clash_are_refused(with_tool: Place) -> None:
    for name, message in (
        ("owner/dep/inner", "would lie in the installed package example.com/owner/dep"),
        ("owner", "would replace the folder that holds example.com/owner/dep, example.com/owner/tool"),
        ("Owner/dep2", "differ in upper and lower case only"),
    ):
        with_tool.repository(f"real/{name.replace('/', '-')}", DEP)
        config = f'[url "file://{with_tool.repositories}/real/{name.replace("/", "-")}"]\n\tinsteadOf = https://example.com/{name}\n'
        with_tool.folder.joinpath("gitconfig").open("a").write(config)
        before = with_tool.files()
        assert message in with_tool.pkg("add", f"example.com/{name}", fails=True)
        assert with_tool.files() == before


def test_two_versions_of_a_package_are_a_conflict_unless_the_project_decides(place: Place) -> None:
    place.repository("owner/dep", DEP, "v1")
    for name, ref in (("one", "v1"), ("two", "main")):
        place.repository(
            f"owner/{name}", {"sema.toml": f'[deps]\n"example.com/owner/dep" = "{ref}"\n', "package.sema": ""}
        )
    names = '"example.com/owner/one" = "main"\n"example.com/owner/two" = "main"\n'
    write(place.project, {"sema.toml": f"[deps]\n{names}"})
    shown = place.pkg("install", fails=True)
    assert "example.com/owner/one needs example.com/owner/dep v1, example.com/owner/two needs main" in shown
    write(place.project, {"sema.toml": f'[deps]\n"example.com/owner/dep" = "v1"\n{names}'})
    place.pkg("install")
    place.pkg("install", "--locked")


def test_a_tree_that_leaves_its_folder_is_refused(place: Place) -> None:
    place.repository("owner/evil", {"package.sema": ""})
    blob = place.git("owner/evil", "rev-parse", "HEAD:package.sema")
    entry = b"100644 ../../outside.sema\0" + bytes.fromhex(blob)
    (place.folder / "tree").write_bytes(entry)
    tree = place.git("owner/evil", "hash-object", "-t", "tree", "--literally", "-w", str(place.folder / "tree"))
    commit = place.git("owner/evil", "commit-tree", tree, "-m", "evil")
    place.git("owner/evil", "update-ref", "refs/heads/evil", commit)
    shown = place.pkg("add", "example.com/owner/evil@evil", fails=True)
    assert "would be written outside of the destination" in shown or "git archive" in shown
    assert not list(place.folder.rglob("outside.sema"))


def test_two_installs_at_once_take_turns(with_tool: Place) -> None:
    other = with_tool.folder / "second"
    other.mkdir()
    for name in ("sema.toml", "sema.lock"):
        (other / name).write_text((with_tool.project / name).read_text())
    env = {**os.environ, **with_tool.environment, "SEMA_HOME": str(with_tool.folder / "shared")}
    both = [
        subprocess.Popen([*SEMA, "pkg", "install", "--locked"], cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
        for folder in (with_tool.project, other)
    ]
    assert [process.communicate(timeout=120) and process.returncode for process in both] == [0, 0]
    packages = with_tool.folder / "shared" / "packages"
    assert sorted(path.name for path in packages.iterdir()) == [".lock", "example.com"]


def test_ctrl_c_during_an_install_changes_nothing(with_tool: Place) -> None:
    """git waits for a server that never answers."""
    import socket

    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    url = f"git://127.0.0.1:{listener.getsockname()[1]}/"
    config = f'[url "{url}"]\n\tinsteadOf = https://slow.example/\n'
    with_tool.folder.joinpath("gitconfig").open("a").write(config)
    before = with_tool.files()
    process = subprocess.Popen(
        [*SEMA, "pkg", "add", "slow.example/a/b"], cwd=with_tool.project, env={**os.environ, **with_tool.environment},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    connection, _ = listener.accept()
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    connection.close()
    listener.close()
    assert process.returncode == 1, output
    assert "Traceback" not in output
    assert with_tool.files() == before
    assert [path.name for path in with_tool.packages.iterdir() if path.name.startswith(".installing")] == []


# Packages of a registry


def test_a_package_of_a_registry(place: Place, server: RegistryServer) -> None:
    server.put("words", "1.0.0", {"package.sema": '(define (words) "one")'})
    server.put("words", "1.1.0", {"package.sema": '(define (words) "two")'})
    place.pkg("init")
    assert place.pkg("config", "registry.url", server.url) == f"✓ registry.url = {server.url}\n"
    assert place.pkg("add", "words@1.0.0").endswith('✓ Added words = "1.0.0" to sema.toml\n')
    write(place.project, {"main.sema": '(import "words") (println (words))'})
    assert place.sema("main.sema") == "one\n"
    manifest = place.project / "sema.toml"
    manifest.write_text(manifest.read_text().replace('"1.0.0"', '"^1.0"'))
    place.pkg("install", "--locked")
    assert "Updated words: 1.0.0 → 1.1.0" in place.pkg("update")
    assert place.sema("main.sema") == "two\n"
    assert f'version = "1.1.0"\nregistry = "{server.url}"\nchecksum = "' in (place.project / "sema.lock").read_text()
    assert place.pkg("list") == f"  words (1.1.0) [{server.url}]\n"
    assert "has no version 3.0.0 of words; there are 1.0.0, 1.1.0" in place.pkg("add", "words@3.0.0", fails=True)
    assert "Package not found (status 404)" in place.pkg("add", "nothing", fails=True)


def test_publishing_and_what_a_registry_tells(place: Place, server: RegistryServer) -> None:
    text = '[package]\nname = "mine"\nversion = "0.2.0"\ndescription = "My words"\n[deps]\nwords = "1.0.0"\n'
    write(place.project, {"sema.toml": text, "package.sema": "(define x 1)", ".venv/big": "", "lib/a.sema": ""})
    server.put("words", "1.0.0", {"package.sema": ""})
    environment = {"SEMA_REGISTRY_URL": server.url}
    assert "not logged in to" in place.pkg("publish", fails=True, **environment)
    assert "a token is a word" in place.pkg("login", "--token", "a b", fails=True, **environment)
    place.pkg("login", "--token", "wrong", **environment)
    assert "Invalid token (status 401); sema pkg login" in place.pkg("publish", fails=True, **environment)
    place.pkg("login", "--token", TOKEN, **environment)
    credentials = place.home / "credentials.toml"
    assert credentials.stat().st_mode & 0o777 == 0o600
    assert "  package.sema\n" in place.pkg("publish", "--dry-run", **environment)
    assert place.pkg("publish", **environment).startswith("✓ Published mine@0.2.0 (3 files, ")
    assert server.metadata["mine", "0.2.0"]["dependencies"] == [{"name": "words", "version_req": "1.0.0"}]
    assert "Version already exists (status 409)" in place.pkg("publish", fails=True, **environment)
    server.descriptions["mine"] = "My words"
    assert place.pkg("search", "min", **environment) == "  mine — My words\n"
    assert place.pkg("search", "zzz", **environment) == "No packages found for 'zzz'.\n"
    assert place.pkg("info", "mine", **environment) == "mine  My words\n  owners: ann\n  0.2.0\n"
    assert place.pkg("yank", "mine@0.2.0", **environment) == "✓ Yanked mine@0.2.0\n"
    assert "has no version * of mine; there are none" in place.pkg("add", "mine", fails=True, **environment)
    assert "token = (set)" in place.pkg("config", **environment)
    place.pkg("logout")
    assert "token" not in credentials.read_text()
    with registry() as other:  # a token never goes to another registry
        place.pkg("login", "--token", TOKEN, "--registry", server.url)
        place.pkg("search", "x", "--registry", other.url)
        assert [token for _, _, token in other.seen] == [""]


def evil(change: Callable[[tarfile.TarFile], None]) -> bytes:
    return archive({"package.sema": ""}, change)


def add_member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> Callable[[tarfile.TarFile], None]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return lambda tar: tar.addfile(info)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (evil(add_member("../../outside")), "entry ../../outside would be written outside"),
        (evil(add_member("/outside")), "entry /outside would be written outside"),
        (evil(add_member("link", tarfile.SYMTYPE, "../../..")), "is a link that leads outside"),
        (evil(add_member("link", tarfile.LNKTYPE, "/etc/passwd")), "would be written outside"),
        (evil(add_member("device", tarfile.CHRTYPE)), "device"),
        (b"no archive", "words@1.0.0"),
        (archive({"package.sema": "x" * 1000})[:-20], "words@1.0.0"),
    ],
    ids=["outside", "absolute", "symbolic-link", "hard-link", "device", "no-archive", "cut"],
)
def test_archives_that_nobody_should_trust(data: bytes, message: str, place: Place, server: RegistryServer) -> None:
    server.packages["words"] = {"1.0.0": data}
    place.pkg("init")
    before = place.files()
    shown = place.pkg("add", "words", "--registry", server.url, fails=True)
    assert message in shown
    assert place.files() == before
    assert not list(place.folder.rglob("outside"))


def cut_off(handler: Any) -> bool:
    """Breaks the connection in the middle of an archive."""
    if not handler.path.endswith("/download"):
        return False
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b"x" * 100)
    handler.wfile.flush()
    handler.connection.close()
    return True


def answering(status: int, body: bytes) -> Callable[[Any], bool]:
    """Has a server answer everything in one way."""

    def answer(handler: Any) -> bool:
        handler.answer(status, body)
        return True

    return answer


def test_a_network_that_breaks_and_answers_that_are_wrong(place: Place, server: RegistryServer) -> None:
    server.put("words", "1.0.0", {"package.sema": ""})
    place.pkg("init")
    before = place.files()
    server.misbehave = cut_off
    assert "can't be reached for words@1.0.0: " in place.pkg("add", "words", "--registry", server.url, fails=True)
    server.misbehave = answering(200, b"<html>")
    shown = place.pkg("add", "words", "--registry", server.url, fails=True)
    assert "something else than JSON; is it a registry?" in shown
    server.misbehave = answering(500, b"oh")
    assert "Internal Server Error (status 500)" in place.pkg("add", "words", "--registry", server.url, fails=True)
    server.misbehave = lambda handler: False
    server.checksums["words", "1.0.0"] = "0" * 64
    shown = place.pkg("--json", "add", "words", "--registry", server.url, fails=True)
    answer = json.loads(shown)
    assert (answer["ok"], answer["command"]) == (False, "add")
    assert "expected was 0000" in answer["error"]
    assert place.files() == before
    unreachable = place.pkg("search", "x", "--registry", "http://127.0.0.1:9", fails=True)
    assert "sema pkg config registry.url URL chooses another" in unreachable
    assert "is no URL of a registry" in place.pkg("search", "x", "--registry", "ftp://x", fails=True)


# Packages of Python


def test_python_packages_live_beside_sema_packages(place: Place) -> None:
    """pip finds them in a folder of wheels; one of them has Sema modules."""
    project = write(
        place.folder / "shop",
        {
            "pyproject.toml": '[build-system]\nrequires = ["hatchling", "semac"]\nbuild-backend = "hatchling.build"\n'
            '[project]\nname = "shop-words"\nversion = "1.2"\ndependencies = ["sema-runtime"]\n'
            '[tool.hatch.build.hooks.semac]\n[tool.hatch.build.targets.wheel]\npackages = ["shop_words"]\n',
            "shop_words/__init__.py": "",
            "shop_words/deep/words.sema": '(define (greet name) (str "hello " name)) (defmacro twice (x) `(str ,x ,x))',
        },
    )
    (place.folder / "wheels").mkdir()
    build(project, place.folder / "wheels", "--wheel")
    target = place.folder / "site"
    settings = {
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(place.folder / "wheels"), "PIP_NO_DEPS": "1",
        "PIP_TARGET": str(target), "PYTHONPATH": str(target),
    }  # fmt: skip
    place.pkg("init")
    shown = place.pkg("add", "py:shop-words>=1", **settings)
    assert shown == '✓ Installed shop-words>=1 from Python\'s index (1.2)\n✓ Added shop-words = ">=1" to sema.toml\n'
    assert '[python]\nshop-words = ">=1"\n' in (place.project / "sema.toml").read_text()
    assert '[python."shop-words"]\nversion = "1.2"\n' in (place.project / "sema.lock").read_text()
    program = '(import "shop-words/deep/words") (println (greet "ann") (twice "x"))'
    write(place.project, {"main.sema": program})
    assert place.sema("main.sema", PYTHONPATH=str(target), PYTHONWARNINGS="error") == "hello ann xx\n"
    assert place.pkg("list", **settings) == "  shop-words (1.2) [Python]\n"
    assert place.pkg("list") == "  shop-words [Python, not installed here]\n"
    assert "none-such can't be installed" in place.pkg("add", "py:none-such", fails=True, **settings)
    place.repository("owner/old", {"package.sema": "1", "sema.toml": '[python]\nshop-words = "<1"\n'})
    before = place.files()
    clash = place.pkg("add", "example.com/owner/old", fails=True, **settings)
    assert "shop-words==1.2,<1 can't be installed" in clash
    assert place.files() == before
    place.pkg("install", "--locked", **settings, PIP_UPGRADE="1")
    assert "pip uninstall removes it from Python" in place.pkg("remove", "py:shop-words")
    assert "shop-words" not in (place.project / "sema.toml").read_text()


def test_unknown_commands_are_said(place: Place) -> None:
    assert "did you mean 'sema pkg install'?" in place.pkg("instal", fails=True)
    assert "name@1.2.0" in place.pkg("--help")
    assert "there is no sema.toml in this folder" in place.pkg("install", fails=True)
