"""Logins of the MCP client, with the authorization server of the official package and with one that does as it is told;
the stores of tokens; `sema mcp login`, `logout` and `list`."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from mcp_logins import SEMA, Authority, Guarded, sema, store_file, stored, with_keychain
from mcp_logins import authority as authority
from mcp_logins import browser as browser
from mcp_logins import guarded as guarded
from mcp_logins import server_url as server_url
from mcp_support import Told, environment, literal, run
from mcp_support import mcp as mcp

from sema_runtime.conditions.describe import describe
from sema_runtime.mcp.discovery import Challenge, challenge_of, check_url, metadata_places
from sema_runtime.mcp.oauth import pkce_challenge
from sema_runtime.mcp.oauth_redirect import RedirectServer, code_of
from sema_runtime.mcp.protocol import Failure
from sema_runtime.mcp.tokens import Credentials, FileStore, KeychainStore, default_store
from sema_runtime.tasks import suspend

pytestmark = pytest.mark.usefixtures("mcp")
WHO = '(define s (mcp/connect {:url url})) (mcp/call s "whoami" {})'


def error(source: str, **names: Any) -> Any:
    with pytest.raises(Exception) as caught:
        run(source, **names)
    return describe(caught.value)


# The official authorization server


def test_a_login_in_the_browser(guarded: Guarded, capfd: pytest.CaptureFixture[str]) -> None:
    before = len(guarded.admin("log"))
    assert run(WHO, url=guarded.url) == "ada"
    assert guarded.admin("log")[before:] == ["register", f"authorize {guarded.url}"]
    output, errors = capfd.readouterr()
    assert output == ""
    assert errors.startswith(f"Opening your browser to authorize {guarded.url} ...\n")
    assert store_file().stat().st_mode & 0o777 == 0o600
    kept = stored(guarded.url)
    assert sorted(kept) == ["client_info", "server_url", "tokens"]
    assert kept["tokens"]["expires_at"] > time.time() + 3000
    assert run(WHO, url=guarded.url) == "ada"
    assert guarded.opened() == 1


def test_the_login_is_bound_to_the_server(guarded: Guarded) -> None:
    run(WHO, url=guarded.url)
    query = parse_qs(urlsplit(guarded.notes.read_text().strip()).query)
    assert query["resource"] == [guarded.url]
    assert query["code_challenge_method"] == ["S256"]
    assert query["scope"] == ["read"]
    assert query["redirect_uri"][0].startswith("http://127.0.0.1:")
    assert query["redirect_uri"][0].endswith("/callback")


def test_a_token_that_has_ended_is_replaced(guarded: Guarded) -> None:
    handle = run("(mcp/connect {:url url})", url=guarded.url)
    before = stored(guarded.url)["tokens"]
    guarded.admin("revoke")
    assert list(run('(async/all (map (fn (_) (async (mcp/call s "whoami" {}))) (range 3)))', s=handle)) == ["ada"] * 3
    after = stored(guarded.url)["tokens"]
    assert after["access_token"] != before["access_token"]
    assert after["refresh_token"] != before["refresh_token"]
    assert guarded.opened() == 1


def test_without_a_refresh_token_the_browser_opens_again(guarded: Guarded) -> None:
    run(WHO, url=guarded.url)
    guarded.admin("revoke")
    guarded.admin("forget")
    assert run(WHO, url=guarded.url) == "ada"
    assert guarded.opened() == 2
    assert [line for line in guarded.admin("log")[-2:] if line == "register"] == []  # the same port, the same client


def test_processes_refresh_once(guarded: Guarded, tmp_path: Path) -> None:
    run(WHO, url=guarded.url)
    guarded.admin("revoke")
    before = guarded.admin("log").count("refresh")
    file = tmp_path / "who.sema"
    file.write_text(f"(define url {literal(guarded.url)}) (println (begin {WHO}))")
    running = [subprocess.Popen([*SEMA, str(file)], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    assert [process.communicate(timeout=60)[0] for process in running] == ["ada\n"] * 3
    assert guarded.admin("log").count("refresh") == before + 1
    assert guarded.opened() == 1


def test_secrets_stay_off_tapes(guarded: Guarded, tmp_path: Path) -> None:
    tape = tmp_path / "tape.ndjson"
    run(f"(llm/with-cassette tape {{}} (fn () {WHO}))", url=guarded.url, tape=str(tape))
    tokens = stored(guarded.url)["tokens"]
    assert tape.read_text().count("\n") == 2
    assert not any(tokens[name] in tape.read_text() for name in ("access_token", "refresh_token"))


def test_login_logout_list(guarded: Guarded) -> None:
    done = sema("mcp", "login", guarded.url)
    assert done.returncode == 0, done.stderr
    assert done.stderr.endswith(f"Authenticated to {guarded.url}. The token is kept in {store_file()}.\n")
    listed = sema("mcp", "list")
    assert listed.stdout.startswith(f"{guarded.url}  good until ")
    assert listed.stdout.endswith(", renewed by itself\n")
    assert run(WHO, url=guarded.url) == "ada"
    assert guarded.opened() == 1
    assert sema("mcp", "logout", guarded.url).stderr == f"Logged out of {guarded.url}.\n"
    assert sema("mcp", "logout", guarded.url).stderr == f"There was no token of {guarded.url}.\n"
    assert sema("mcp", "list").stderr == f"No tokens in {store_file()}.\n"


# Where no browser opens


def test_no_browser(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BROWSER")
    found = error(WHO, url=guarded.url)
    assert found.message == "mcp/connect: OAuth login failed: there is no browser here"
    assert found.hint is not None
    assert f"sema mcp login {guarded.url} --device" in found.hint


def test_a_program_that_may_not_start_any(guarded: Guarded, tmp_path: Path) -> None:
    source = f"(mcp/connect {{:url {literal(guarded.url)}}})"
    before = guarded.admin("log")
    done = sema("--sandbox", "no-process", "-e", source)
    assert "Permission denied: mcp/connect (open browser) requires 'process' capability" in done.stderr
    assert guarded.admin("log") == before
    assert guarded.opened() == 0


def test_interrupted_while_waiting(guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BROWSER", "true %s &")
    process = subprocess.Popen(
        [*SEMA, "mcp", "login", guarded.url], stderr=subprocess.PIPE, text=True, env=environment()
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("Opening your browser")
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.endswith("Error: interrupted\n")
    assert not store_file().exists()


ECHO = '(define s (mcp/connect {:url url})) (mcp/call s "echo" {})'


def test_a_client_with_a_secret(authority: Authority) -> None:
    assert run(ECHO, url=f"{authority.root}/mcp") == "{}"
    assert authority.form["resource"] == f"{authority.root}/mcp"
    assert authority.authorization is not None
    assert authority.authorization.startswith("Basic ")
    assert "client_secret" not in authority.form
    assert stored(f"{authority.root}/mcp")["client_info"]["client_id"] == "registered"


def test_a_client_id_that_is_given(authority: Authority) -> None:
    authority.metadata["registration_endpoint"] = None
    assert error(ECHO, url=f"{authority.root}/mcp").message == (
        "mcp/connect: OAuth login failed: server requires a pre-registered client (no dynamic registration endpoint)"
    )
    source = '(mcp/call (mcp/connect {:url url :auth {:client-id "mine" :scopes ["a" "b"]}}) "echo" {})'
    assert run(source, url=f"{authority.root}/mcp") == "{}"
    assert authority.form["client_id"] == "mine"
    assert authority.authorization is None
    assert authority.scope_seen == "a b"


def test_more_rights_are_asked_for_when_a_call_needs_them(authority: Authority) -> None:
    authority.challenge = ', scope="read"'
    handle = run("(mcp/connect {:url url})", url=f"{authority.root}/mcp")
    authority.tokens.clear()
    authority.refusal = (403, 'error="insufficient_scope"')
    authority.challenge = ', scope="read write"'
    assert run('(mcp/call s "echo" {})', s=handle) == "{}"
    assert authority.scope_seen == "read write"
    authority.tokens.clear()
    authority.refusal = (403, 'error="invalid_token"')
    refused = error('(mcp/call s "echo" {})', s=handle)
    assert refused.message == "mcp/call: MCP server returned HTTP 403 on `tools/call`: no"


def test_an_older_server_is_its_own_authority(authority: Authority) -> None:
    authority.resource = None
    assert run(ECHO, url=f"{authority.root}/mcp") == "{}"


@pytest.mark.parametrize(
    ("metadata", "resource", "message"),
    [
        ({"code_challenge_methods_supported": ["plain"]}, {}, "ROOT: no PKCE S256 support at ROOT"),
        ({"issuer": "https://evil.example"}, {}, "ROOT: metadata issuer (https://evil.example) does not match"),
        ({"token_endpoint": "http://evil.example/token"}, {},
         "ROOT: an address for the login is not https: http://evil.example/token"),
        ({}, {"authorization_servers": []}, "protected resource metadata lists no authorization servers"),
        ({}, {"resource": "https://evil.example/mcp"},
         "protected resource metadata `resource` (https://evil.example/mcp) does not match the server being connected"
         " to (ROOT/mcp); refusing to authorize"),
    ],
)  # fmt: skip
def test_metadata_that_is_not_to_be_trusted(
    authority: Authority, browser: Path, metadata: dict[str, Any], resource: dict[str, Any], message: str
) -> None:
    authority.metadata, authority.resource = metadata, resource
    found = error(ECHO, url=f"{authority.root}/mcp").message
    expected = message.replace("ROOT", authority.root)
    if expected.startswith(authority.root):
        expected = f"no usable authorization server among 1 advertised: {expected}"
    assert found == f"mcp/connect: OAuth login failed: {expected}"
    assert not browser.exists()


@pytest.mark.parametrize(
    ("redirected", "message"),
    [
        ({"code": "c", "state": "other"}, "OAuth state mismatch (possible CSRF); aborting login"),
        ({"code": "c"}, "redirect is missing the state parameter"),
        ({"state": "STATE"}, "redirect is missing the authorization code"),
        ({"state": "STATE", "code": "c", "iss": "https://evil.example"},
         "the redirect comes from another authorization server; aborting login"),
        ({"state": "STATE", "error": "access_denied", "error_description": "user said no"},
         "authorization server returned error `access_denied`: user said no"),
    ],
)  # fmt: skip
def test_what_the_browser_brings(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, redirected: dict[str, str], message: str
) -> None:
    def answer(query: dict[str, str]) -> dict[str, str]:
        return {name: query["state"] if value == "STATE" else value for name, value in redirected.items()}

    monkeypatch.setattr(authority, "redirected", answer)
    assert error(ECHO, url=f"{authority.root}/mcp").message == f"mcp/connect: OAuth login failed: {message}"
    assert not store_file().exists()


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Told(400, {"error": "invalid_grant", "error_description": "too late"}), "invalid_grant: too late"),
        (Told(500, "secret stack trace"), "token endpoint HTTP 500: unrecognized body (18 bytes)"),
        (Told(200, {"no": "token"}), "token endpoint HTTP 200: unrecognized body (15 bytes)"),
    ],
)
def test_a_token_endpoint_that_gives_none(authority: Authority, answer: Told, message: str) -> None:
    authority.answers = [answer]
    assert error(ECHO, url=f"{authority.root}/mcp").message == f"mcp/connect: OAuth login failed: {message}"


def test_a_token_that_is_refused_right_away(authority: Authority) -> None:
    authority.answers = [Told(body={"access_token": "worthless-token-1"})]
    refused = error(ECHO, url=f"{authority.root}/mcp")
    assert refused.message == "mcp/connect: MCP server requires authorization (HTTP 401) on `initialize`"
    assert "worthless" not in f"{refused.message}{refused.hint}{refused.note}"


def test_a_login_on_another_device(authority: Authority) -> None:
    authority.answers = [Told(400, {"error": "authorization_pending"})]
    done = sema("mcp", "login", f"{authority.root}/mcp", "--device", BROWSER="false")
    assert done.returncode == 0, done.stderr
    assert f"go to\n  {authority.root}/go\nand enter the code ABCD-EFGH" in done.stderr
    assert authority.form["device_code"] == "device-1"
    assert run(ECHO, url=f"{authority.root}/mcp") == "{}"


@pytest.mark.parametrize(
    ("metadata", "answers", "message"),
    [
        ({"device_authorization_endpoint": None}, [],
         "authorization server does not advertise a device authorization endpoint"),
        ({}, [Told(400, {"error": "access_denied"})], "access_denied"),
    ],
)  # fmt: skip
def test_a_device_that_is_refused(
    authority: Authority, metadata: dict[str, Any], answers: list[Told], message: str
) -> None:
    authority.metadata, authority.answers = metadata, answers
    done = sema("mcp", "login", f"{authority.root}/mcp", "--device")
    assert done.returncode == 1
    assert f"Error: {message}\n" in done.stderr


def test_other_requests_to_the_local_server_are_turned_away() -> None:
    import asyncio

    def get(url: str) -> int:
        try:
            with urllib.request.urlopen(url) as reply:
                return int(reply.status)
        except urllib.error.HTTPError as refused:
            return refused.code

    async def visit() -> list[Any]:
        async with RedirectServer("st", "https://as.example") as loopback:
            base = f"http://127.0.0.1:{loopback.port}"
            found: list[Any] = [await asyncio.to_thread(get, f"{base}/favicon.ico")]
            reader, writer = await asyncio.open_connection("127.0.0.1", loopback.port)
            writer.write(b"\x16\x03\x01 no http\r\n\r\n")
            found.append(await reader.read())
            found.append(await asyncio.to_thread(get, f"{base}/callback?code=c&state=st"))
            return [*found, await loopback.wait()]

    icon, garbage, callback, code = suspend(visit())
    assert (icon, callback, code) == (404, 200, "c")
    assert garbage.startswith(b"HTTP/1.1 404")


# Parts


def test_challenges() -> None:
    header = 'Bearer realm="x, y", resource_metadata="https://a/b?c=d", scope="files:read files:write", error=invalid'
    assert challenge_of(header) == Challenge("https://a/b?c=d", "files:read files:write", "invalid")
    assert challenge_of(None) == challenge_of("Basic") == Challenge()


def test_places_of_metadata() -> None:
    assert metadata_places("https://as.example/one") == [
        "https://as.example/.well-known/oauth-authorization-server/one",
        "https://as.example/.well-known/openid-configuration/one",
        "https://as.example/one/.well-known/openid-configuration",
    ]
    assert metadata_places("https://as.example") == [
        "https://as.example/.well-known/oauth-authorization-server",
        "https://as.example/.well-known/openid-configuration",
    ]


@pytest.mark.parametrize("url", ["https://x.example/t", "http://127.0.0.1:9/t", "http://lan.example:8000/t"])
def test_addresses_for_logins(url: str) -> None:
    check_url(url, "http://lan.example/mcp")


@pytest.mark.parametrize(
    "url", ["http://x.example/t", "file:///etc/passwd", "x", 5, None, "http://[", "ftp://x.example"]
)
def test_addresses_that_tokens_are_not_sent_to(url: Any) -> None:
    with pytest.raises(Failure, match="an address for the login is not https"):
        check_url(url, "http://lan.example/mcp")


def test_pkce() -> None:
    """The example of RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert pkce_challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_the_state_is_compared() -> None:
    with pytest.raises(Failure, match="state mismatch"):
        code_of({"state": "a", "code": "c"}, "b", "https://as.example")


# Stores


def test_the_file_is_as_the_reference_writes_it() -> None:
    store = FileStore()
    made = Credentials("https://a.example/mcp", "t", "r", 99, "read", {"client_id": "c"})
    store.save(made)
    store.save(Credentials("https://b.example/mcp", "t2"))
    assert json.loads(store_file().read_text()) == {
        "servers": {
            "https://a.example/mcp": {
                "server_url": "https://a.example/mcp",
                "tokens": {"access_token": "t", "refresh_token": "r", "expires_at": 99, "scope": "read"},
                "client_info": {"client_id": "c"},
            },
            "https://b.example/mcp": {"server_url": "https://b.example/mcp", "tokens": {"access_token": "t2"}},
        }
    }
    assert store.load("https://a.example/mcp") == made
    assert store.urls() == ["https://a.example/mcp", "https://b.example/mcp"]
    assert store.delete("https://a.example/mcp")
    assert not store.delete("https://a.example/mcp")
    assert store.urls() == ["https://b.example/mcp"]


@pytest.mark.parametrize("text", ["{ not json", "[]", '{"servers": 5}', ""])
def test_a_damaged_file_is_left_alone(text: str, authority: Authority) -> None:
    store_file().parent.mkdir(parents=True)
    store_file().write_text(text)
    found = error(ECHO, url=f"{authority.root}/mcp")
    assert found.message == (
        f"mcp/connect: OAuth login failed: the MCP token store {store_file()} is damaged; it is left as it is"
    )
    done = sema("mcp", "login", "https://x.example/mcp", "--token", "abcdefgh")
    assert done.returncode == 1
    assert "is damaged; it is left as it is\n  hint: mend or delete it, then log in again\n" in done.stderr
    assert store_file().read_text() == text


@pytest.mark.parametrize(
    "entry", [5, {"tokens": {}}, {"server_url": "https://other.example", "tokens": {"access_token": "t"}}]
)
def test_a_damaged_entry_counts_as_none(entry: Any) -> None:
    store_file().parent.mkdir(parents=True)
    store_file().write_text(json.dumps({"servers": {"https://a.example": entry}}))
    assert FileStore().load("https://a.example") is None
    assert FileStore().urls() == []


def test_many_writers_lose_nothing() -> None:
    source = "import sys; from sema_runtime.mcp.tokens import *\n"
    source += "for i in range(10): FileStore().save(Credentials(f'https://{sys.argv[1]}-{i}.example', 't'))"
    writers = [subprocess.Popen([sys.executable, "-c", source, str(number)]) for number in range(4)]
    assert [writer.wait(timeout=60) for writer in writers] == [0] * 4
    assert len(FileStore().urls()) == 40


def test_a_token_from_elsewhere(authority: Authority) -> None:
    url = f"{authority.root}/mcp"
    authority.tokens.add("issued-elsewhere-1")
    command = [*SEMA, "mcp", "login", url, "--token", "-", "--expires-in", "60000"]
    done = subprocess.run(command, input="issued-elsewhere-1\n", capture_output=True, text=True, env=environment())
    assert done.returncode == 0
    assert "issued-elsewhere" not in done.stderr + done.stdout
    assert run(ECHO, url=url) == "{}"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("login",), 2, "Missing argument 'URL'"),
        (("login", "ftp://x"), 2, "URL must start with http:// or https://, got ftp://x"),
        (("login", "https://x", "--device", "--token", "t"), 2, "--token and --device exclude each other"),
        (("login", "https://x", "--expires-in", "5"), 2, "--expires-in needs --token"),
        (("login", "https://x", "--token", "a b\n"), 1, "the token is empty or holds characters that no token has"),
        (("login", "https://x", "--token", ""), 1, "the token is empty or holds characters that no token has"),
        (("login", "http://127.0.0.1:9/mcp"), 1, "failed to discover protected resource metadata"),
        (("serve.sema",), 1, "file not found: serve.sema"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], status: int, message: str) -> None:
    done = sema("mcp", *arguments)
    assert (done.returncode, message in done.stderr) == (status, True), done.stderr


def test_what_there_is() -> None:
    done = sema("mcp", "--help")
    assert done.returncode == 0
    assert "sema mcp login URL" in done.stdout


def test_the_keychain(tmp_path: Path) -> None:
    settings = with_keychain(tmp_path)
    done = sema("mcp", "login", "https://a.example/mcp", "--token", "abcdefgh", **settings)
    assert done.stderr == "Authenticated to https://a.example/mcp. The token is kept in the system's keychain.\n"
    assert not store_file().exists()
    assert sema("mcp", "list", **settings).stdout == "https://a.example/mcp  does not expire\n"
    assert sema("mcp", "logout", "https://a.example/mcp", **settings).returncode == 0
    assert sema("mcp", "list", **settings).stdout == ""


def test_the_store_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    monkeypatch.setenv("SEMA_MCP_TOKEN_STORE", "keychain")
    with pytest.raises(Failure, match=r"pip install 'semac\[keychain\]'"):
        default_store()
    monkeypatch.setenv("SEMA_MCP_TOKEN_STORE", "")
    assert isinstance(default_store(), FileStore)
    monkeypatch.setenv("SEMA_MCP_TOKEN_STORE", "cloud")
    with pytest.raises(Failure, match="must be file or keychain, got cloud"):
        default_store()
    with pytest.raises(Failure):
        KeychainStore()
