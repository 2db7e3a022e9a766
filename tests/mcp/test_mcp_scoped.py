"""Stores of logins that belong to a workflow or a run: their files, their key, `sema mcp ... --workflow, --run`."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_logins import sema, store_file, with_keychain
from mcp_support import environment
from mcp_support import mcp as mcp

from sema_runtime.mcp import store_key
from sema_runtime.mcp.protocol import Failure
from sema_runtime.mcp.scoped import MemoryStore, ScopedStore, file_name, folder_names
from sema_runtime.mcp.tokens import Credentials
from sema_runtime.workflow.run.logins import workflow_store

pytest.importorskip("cryptography")
pytestmark = pytest.mark.usefixtures("mcp", "own_directory")

URL = "https://mcp.example.com/mcp"
KEY = "07" * 32
BY_NODE = (  # made with the chacha20-poly1305 of Node.js, key 0x07 32 times, nonce 00 01 02 ... 0b
    '{"v":1,"nonce":"AAECAwQFBgcICQoL","ciphertext":"V1eCRh7tyl5IA3OmnSBZHZWilILdFf8SbaaekTkBRp5AhS8X8n34rUr5J6pjih/R'
    "tYufAgthbdewdUG/rqxFlLoC7vOnMjyR5T3DkkGy4Tx0pN6oHbCLLp+XHlurxlPUZB+9AJqUtGoAdwCXB19SCQHfaERm/ANZDHi+KL5eCshDJU6d6"
    'StmS+SENomrtyXlB/G+1TRFeaVBPQoD8dnx+Y5h+QgUEe0UsanoT6otYbgHRNfTr6tvLqytst0i8vVVFWhwqlE6HHfrRwc="}'
)
LOGIN = Credentials(URL, "access-1", "refresh-1", 4600, "files:read", {"client_id": "client-1"})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_MCP_AUTH_KEY", KEY)
    monkeypatch.delenv("SEMA_WORKFLOW_RUN_DIR", raising=False)


def store() -> ScopedStore:
    return workflow_store("triage")


def kept(url: str = URL) -> Path:
    return Path(".sema/auth/triage") / file_name(url)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# Files


def test_a_file_that_another_program_wrote(capfd: pytest.CaptureFixture[str]) -> None:
    kept().parent.mkdir(parents=True)
    kept().write_text(BY_NODE)
    assert kept().name == "mcp.example.com-7a930d27a3f5c464.json"
    assert store().load(URL) == LOGIN
    assert store().urls() == [URL]
    assert capfd.readouterr() == ("", "")


def test_what_is_written() -> None:
    store().save(LOGIN)
    assert store().load(URL) == LOGIN
    text = kept().read_text()
    envelope = json.loads(text)
    assert list(envelope) == ["v", "nonce", "ciphertext"]
    assert envelope["v"] == 1
    assert len(base64.b64decode(envelope["nonce"])) == 12
    assert "access-1" not in text
    assert [one.name for one in kept().parent.iterdir()] == [kept().name]
    assert (mode(kept()), mode(kept().parent), mode(Path(".sema/auth"))) == (0o600, 0o700, 0o700)
    store().save(LOGIN)
    assert json.loads(kept().read_text())["nonce"] != envelope["nonce"]


def test_permissions_are_mended() -> None:
    store().save(LOGIN)
    kept().chmod(0o644)
    kept().parent.chmod(0o755)
    store().save(LOGIN)
    assert (mode(kept()), mode(kept().parent)) == (0o600, 0o700)


def test_git_takes_no_login() -> None:
    store().save(LOGIN)
    subprocess.run(["git", "init", "-q"], check=True)
    assert subprocess.run(["git", "check-ignore", "-q", str(kept())]).returncode == 0


def test_deleting() -> None:
    store().save(LOGIN)
    assert store().delete(URL)
    assert not store().delete(URL)
    assert store().urls() == []
    assert store().load(URL) is None


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://127.0.0.1:8000/mcp", "127.0.0.1-"),
        ("http://[::1]:8000/mcp", "___1_-"),
        ("https://MCP.Example.com", "mcp.example.com-"),
        ("https://bücher.example/mcp", "xn--bcher-kva.example-"),
        ("https://my_host/mcp", "my_host-"),
        ("nonsense", "server-"),
        (f"https://{'a' * 300}.example", f"{'a' * 200}-"),
    ],
)
def test_names_of_files(url: str, name: str) -> None:
    found = file_name(url)
    assert found.startswith(name)
    assert len(found) == len(name) + 16 + len(".json")


@pytest.mark.parametrize("name", ["triage", "deploy?", "team/triage", "naïve flow"])
def test_names_of_directories(name: str) -> None:
    assert "/".join(folder_names(name)) == name


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "/etc", "a//b", "a/../b", "a\\b", "a\0b", "x" * 300])
def test_names_that_are_no_safe_directories(name: str) -> None:
    (made,) = folder_names(name)
    assert not {"/", "\\", "\0", ".", "\n"} & set(made)
    assert len(made) < 100
    assert made != folder_names(name + "?")[0]


# What can't be used


DAMAGED = "is damaged"
OTHER_KEY = "can't be decrypted: the key is another one, or the file is damaged"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", DAMAGED),
        ("{ no json", DAMAGED),
        ("[]", DAMAGED),
        ("[" * 100_000, DAMAGED),
        ('{"v":1}', DAMAGED),
        ('{"v":1,"nonce":5,"ciphertext":"AAAA"}', DAMAGED),
        ('{"v":1,"nonce":"?","ciphertext":"AAAA"}', DAMAGED),
        (BY_NODE[: len(BY_NODE) // 2], DAMAGED),
        (BY_NODE.replace('"v":1', '"v":2'), "has a format that is not known here"),
        ('{"v":1,"nonce":"AAAA","ciphertext":"AAAA"}', "has a format that is not known here"),
        (BY_NODE.replace("V1eC", "V1eD"), OTHER_KEY),
        ('{"v":1,"nonce":"AAECAwQFBgcICQoL","ciphertext":""}', OTHER_KEY),
    ],
)
def test_a_damaged_file_is_no_login(text: str, reason: str, capfd: pytest.CaptureFixture[str]) -> None:
    kept().parent.mkdir(parents=True)
    kept().write_text(text)
    here = store()
    assert here.load(URL) is None
    assert here.load(URL) is None
    assert here.urls() == []
    assert capfd.readouterr().err == f"sema: {kept()} {reason}; it counts as no login\n"
    here.save(LOGIN)
    assert store().load(URL) == LOGIN


def test_another_key(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    store().save(LOGIN)
    monkeypatch.setenv("SEMA_MCP_AUTH_KEY", "11" * 32)
    assert store().load(URL) is None
    monkeypatch.setenv("SEMA_MCP_AUTH_KEY", "")
    assert store().load(URL) is None
    said = capfd.readouterr().err.splitlines()
    assert said == [
        f"sema: {kept()} {OTHER_KEY}; it counts as no login",
        f"sema: {kept()} can't be decrypted: there is no key; it counts as no login",
    ]


def test_a_file_of_another_server(capfd: pytest.CaptureFixture[str]) -> None:
    store().save(LOGIN)
    other = "https://other.example/mcp"
    kept().rename(kept(other))
    assert store().load(other) is None
    assert "is of another server, or damaged" in capfd.readouterr().err


def test_symbolic_links_are_not_followed(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    store().save(LOGIN)
    elsewhere = tmp_path / "elsewhere.json"
    kept().rename(elsewhere)
    kept().symlink_to(elsewhere)
    before = elsewhere.read_text()
    assert store().load(URL) is None
    assert capfd.readouterr().err == f"sema: {kept()} is a symbolic link; it counts as no login\n"
    store().save(LOGIN)
    assert elsewhere.read_text() == before
    assert not kept().is_symlink()


@pytest.mark.parametrize("name", [".sema/auth", ".sema/auth/triage"])
def test_directories_that_are_symbolic_links(name: str, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    Path(name).parent.mkdir(parents=True)
    Path(name).symlink_to(tmp_path / "elsewhere")
    for work in (lambda: store().load(URL), lambda: store().save(LOGIN), lambda: store().delete(URL)):
        with pytest.raises(Failure, match=f"{name} must be a directory; logins are not kept behind symbolic links"):
            work()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_is_no_file_is_no_login(capfd: pytest.CaptureFixture[str]) -> None:
    kept().parent.mkdir(parents=True)
    os.mkfifo(kept())
    assert store().load(URL) is None
    assert "is no file; it counts as no login" in capfd.readouterr().err


def test_many_writers_leave_a_whole_file() -> None:
    source = (
        "import sys; from sema_runtime.mcp.tokens import *\n"
        "from sema_runtime.workflow.run.logins import workflow_store\n"
        f"for i in range(10): workflow_store('triage').save(Credentials('{URL}', sys.argv[1] * 1000))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", source, letter]) for letter in "abc"]
    while any(writer.poll() is None for writer in writers):
        found = store().load(URL)
        assert found is None or len(set(found.access_token)) == 1
    assert [writer.wait() for writer in writers] == [0] * 3
    assert [one.name for one in kept().parent.iterdir()] == [kept().name]


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    store().save(LOGIN)
    for name in ("cryptography", "cryptography.hazmat.primitives.ciphers.aead"):
        monkeypatch.setitem(sys.modules, name, None)
    for work in (store().check, lambda: store().save(LOGIN), lambda: store().load(URL)):
        with pytest.raises(Failure, match=r"pip install 'semac\[scoped-logins\]'"):
            work()
    assert store().delete(URL)


def test_memory() -> None:
    one = MemoryStore()
    one.save(LOGIN)
    assert (one.load(URL), one.urls()) == (LOGIN, [URL])
    assert MemoryStore().load(URL) is None
    assert one.delete(URL)
    assert not one.delete(URL)


# The key


def test_a_key_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEMA_MCP_AUTH_KEY")
    assert store_key.found() is None
    store().check()
    assert store().load(URL) is None
    assert not Path(store_key.path()).exists()
    source = "from sema_runtime.mcp import store_key; print(store_key.found_or_made().hex())"
    makers = [subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    made = {maker.communicate()[0] for maker in makers}
    assert made == {Path(store_key.path()).read_text()}
    assert mode(Path(store_key.path())) == 0o600
    assert Path(store_key.path()).parent == store_file().parent
    store().save(LOGIN)
    assert store().load(URL) == LOGIN


@pytest.mark.parametrize("text", ["ab", "zz" * 32, "07" * 33])
def test_a_key_that_is_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_MCP_AUTH_KEY", text)
    with pytest.raises(Failure) as caught:
        store().check()
    assert caught.value.message == (
        "SEMA_MCP_AUTH_KEY is not valid: it must be 64 hexadecimal digits (32 random bytes)"
    )
    monkeypatch.delenv("SEMA_MCP_AUTH_KEY")
    Path(store_key.path()).parent.mkdir(parents=True)
    Path(store_key.path()).write_text(text)
    with pytest.raises(Failure, match=f"the key {store_key.path()} is not valid"):
        store().save(LOGIN)


def test_a_key_in_the_keychain(tmp_path: Path) -> None:
    settings = {**with_keychain(tmp_path), "SEMA_MCP_AUTH_KEY": ""}
    assert sema("mcp", "login", URL, "--workflow", "triage", "--token", "abcdefgh", **settings).returncode == 0
    entries = json.loads((tmp_path / "keychain.json").read_text())
    assert list(entries) == ["sema-mcp store-encryption-key"]
    assert len(bytes.fromhex(entries["sema-mcp store-encryption-key"])) == 32
    assert not Path(store_key.path()).exists()
    listed = sema("mcp", "list", "--workflow", "triage", **settings)
    assert (listed.stdout, listed.stderr) == (f"{URL}  does not expire\n", "")


# The command line


def said(*arguments: str, status: int = 0) -> tuple[str, str]:
    done = sema("mcp", *arguments)
    assert done.returncode == status, done.stderr
    return done.stdout, done.stderr


def test_logins_of_a_workflow() -> None:
    output, errors = said("login", URL, "--workflow", "triage", "--token", "abcdefgh", "--expires-in", "5")
    assert (output, errors) == ("", f"Authenticated to {URL}. The token is kept in .sema/auth/triage.\n")
    assert not store_file().exists()
    assert said("login", URL, "--token", "ijklmnop") == (
        "",
        f"Authenticated to {URL}. The token is kept in {store_file()}.\n",
    )
    assert said("list")[0] == f"{URL}  does not expire\n{URL}  expired  (workflow triage)\n"
    assert said("list", "--workflow", "triage")[0] == f"{URL}  expired\n"
    assert said("list", "--workflow", "other") == ("", "No tokens in .sema/auth/other.\n")
    assert said("logout", URL)[1] == (f"Logged out of {URL}.\nStill kept: sema mcp logout {URL} --workflow triage\n")
    said("login", URL, "--token", "ijklmnop")
    assert said("logout", URL, "--workflow", "triage")[1] == (
        f"Logged out of {URL}.\nRuns will use the login of: sema mcp login {URL}\n"
    )
    assert said("logout", URL, "--workflow", "triage")[1].startswith(f"There was no token of {URL}.\n")
    assert said("logout", URL)[1] == f"Logged out of {URL}.\n"


def test_logins_of_a_run() -> None:
    run = Path(".sema/runs/wf_1")
    run.mkdir(parents=True)
    (run / "events.jsonl").touch()
    said("login", URL, "--run", "wf_1", "--token", "abcdefgh")
    assert [one.name for one in (run / "auth").iterdir()] == [file_name(URL)]
    assert said("list", "--run", str(run))[0] == f"{URL}  does not expire\n"
    assert said("list")[0] == ""
    assert said("logout", URL, "--run", "wf_1")[1] == f"Logged out of {URL}.\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--workflow", "a", "--run", "b"), 2, "--workflow and --run exclude each other"),
        (("--run", "wf_2"), 1, "there is no run in .sema/runs/wf_2\n  hint: sema workflow list shows the runs"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], status: int, message: str) -> None:
    for command in (("list",), ("logout", URL), ("login", URL, "--token", "abcdefgh")):
        assert message in said(*command, *arguments, status=status)[1]


def test_a_bad_key_is_said_before_a_login() -> None:
    done = sema("mcp", "login", URL, "--workflow", "triage", SEMA_MCP_AUTH_KEY="short")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "Error: SEMA_MCP_AUTH_KEY is not valid: it must be 64 hexadecimal digits (32 random bytes)\n"
        "  hint: make one with: openssl rand -hex 32\n"
    )


def test_a_token_from_the_standard_input_is_not_shown() -> None:
    command = [sys.executable, "-m", "semac.cli.entry", "mcp", "login", URL, "--workflow", "triage", "--token", "-"]
    done: Any = subprocess.run(command, input="issued-elsewhere\n", capture_output=True, text=True, env=environment())
    assert "issued" not in done.stdout + done.stderr
    found = store().load(URL)
    assert found is not None
    assert found.access_token == "issued-elsewhere"
