"""http/get and its family against real servers on loopback: requests, replies, bodies, redirects, connections."""

from __future__ import annotations

import asyncio
import gzip
import json

import pytest
from http_client_support import echo as echo
from http_client_support import failure, said
from http_client_support import no_proxy as no_proxy
from net_support import Happening, answering, received, reply, run, serving

from sema_runtime.lib.network import http_client
from sema_runtime.net import http
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text

# Requests and replies


def test_the_shape_of_a_reply() -> None:
    with serving(answering(reply("hi", content_type="text/plain", X_Twice="1"))) as url:
        assert to_text(run(f'(http/get "{url}/x")')) == (
            '{:body "hi" :headers {:content-length "2" :content-type "text/plain" :x-twice "1"} :status 200}'
        )


@pytest.mark.parametrize("method", ["get", "post", "put", "delete", "query"])
def test_methods(echo: str, method: str) -> None:
    body = "" if method in ("get", "delete") else '"text"'
    received = said(run(f'(http/{method} "{echo}/a?b=c" {body})'))
    assert (received["method"], received["path"]) == (method.upper(), "/a?b=c")
    assert received["body"] == ("text" if body else "")
    assert "content-type" not in received["headers"]
    assert received["headers"]["user-agent"] == "semac"


def test_any_method(echo: str) -> None:
    assert said(run(f'(http/request "patch" "{echo}" {{}} "data")'))["body"] == "data"
    assert said(run(f'(http/request "OPTIONS" "{echo}")'))["method"] == "OPTIONS"
    head = run(f'(http/request "HEAD" "{echo}/x")')
    assert to_text(head.lookup(keyword("body"))) == '""'
    for method in ("G E T", "", "GET\\r\\nX: y"):
        with pytest.raises(SemaError, match="http: invalid method"):
            run(f'(http/request "{method}" "{echo}")')


@pytest.mark.parametrize("status", [204, 404, 500])
def test_a_status_is_no_error(echo: str, status: int) -> None:
    assert run(f'(:status (http/get "{echo}/status/{status}"))') == status


def test_a_map_is_sent_as_json(echo: str) -> None:
    received = said(run(f'(http/post "{echo}" {{:name "Grüße 世界" :n [1 2.5 nil] :f (fn (x) x)}})'))
    assert received["headers"]["content-type"] == "application/json"
    sent = json.loads(received["body"].encode("latin-1"))
    assert sent == {"f": "<native-fn <vm-closure>>", "n": [1, 2.5, None], "name": "Grüße 世界"}
    own = said(run(f'(http/post "{echo}" {{:a 1}} {{:headers {{:Content-Type "application/vnd.x+json"}}}})'))
    assert own["headers"]["content-type"] == "application/vnd.x+json"


def test_other_bodies(echo: str) -> None:
    assert said(run(f'(http/post "{echo}" 42)'))["body"] == "42"
    assert said(run(f'(http/post "{echo}" \'(1 "a"))'))["body"] == '(1 "a")'
    assert said(run(f'(http/post "{echo}" (bytevector 0 255))'))["body"] == "\x00\xff"
    nothing = said(run(f'(http/post "{echo}" nil)'))
    assert (nothing["body"], nothing["headers"]["content-length"]) == ("", "0")


def test_headers(echo: str) -> None:
    sent = said(run(f'(http/get "{echo}" {{:headers {{"X-One" "1" :x-two 2 :x-three :kw :user-agent "me"}}}})'))[
        "headers"
    ]
    assert [sent[name] for name in ("x-one", "x-two", "x-three", "user-agent")] == ["1", "2", ":kw", "me"]


def test_options_that_are_no_map_count_as_none(echo: str) -> None:
    assert run(f'(:status (http/get "{echo}" "not-a-map"))') == 200
    assert http_client.http_get(f"{echo}/x", {"timeout": 5000}).lookup(keyword("status")) == 200


def test_a_form(echo: str) -> None:
    received = said(
        run(f"""(http/post "{echo}" nil {{:headers {{:content-type "text/plain"}} :multipart (list
            {{:name "purpose" :content "test"}}
            {{:name "file" :filename "a\\"b.bin" :content (bytevector 1 2) :content-type "application/x-z"}})}})""")
    )
    kind, _, boundary = received["headers"]["content-type"].partition("; boundary=")
    assert kind == "multipart/form-data"
    first, second = received["body"].split(f"--{boundary}")[1:3]
    assert first == '\r\nContent-Disposition: form-data; name="purpose"\r\n\r\ntest\r\n'
    assert 'name="file"; filename="a%22b.bin"\r\nContent-Type: application/x-z\r\n\r\n\x01\x02' in second


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ("5", "http: :multipart must be a list of part maps"),
        ("[5]", "http: each :multipart part must be a map"),
        ('[{:content "x"}]', "http: a :multipart part is missing :name"),
        ('[{:name "a"}]', "http: :multipart part 'a' is missing :content"),
        ('[{:name "a" :content 1}]', "http: :multipart part 'a' :content must be a string or bytevector"),
        (
            '[{:name "a" :content "" :content-type "x/y\\r\\nz"}]',
            "http: invalid :content-type 'x/y\r\nz': expected type/subtype",
        ),
    ],
)
def test_a_form_that_is_none(parts: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(f'(http/post "http://127.0.0.1:9" nil {{:multipart {parts}}})')
    assert caught.value.message == message


# Bodies


@pytest.mark.parametrize(
    ("kind", "data", "text"),
    [
        ("text/plain", "é😀".encode(), "é😀"),
        ("text/plain", b"\xef\xbb\xbfx\xff", "x\ufffd"),
        ("text/html; charset=iso-8859-1", b"\xe9\x80", "é€"),
        ('text/html; x=1; Charset="UTF-16LE"', "é".encode("utf-16-le"), "é"),
        ("text/plain; charset=shift_jis", "日本".encode("shift_jis"), "日本"),
        ("text/plain; charset=nonsense", "é".encode(), "é"),
        ("text/plain; charset=zlib", "é".encode(), "é"),
        ("text/plain; charset=\0", "é".encode(), "é"),
    ],
)
def test_charsets(kind: str, data: bytes, text: str) -> None:
    assert http.decoded(data, kind) == text


def test_a_body_as_bytes() -> None:
    with serving(answering(reply(bytes(range(256)), content_type="text/plain; charset=latin-1"))) as url:
        assert run(f'(:body (http/get "{url}" {{:as :bytes}}))') == bytes(range(256))
        with pytest.raises(SemaError, match="http: :as must be :text or :bytes, got :json"):
            run(f'(http/get "{url}" {{:as :json}})')


def test_compressed_bodies() -> None:
    with serving(answering(reply(gzip.compress(b"abc" * 1000), content_encoding="gzip"))) as url:
        assert run(f'(:body (http/get "{url}"))') == "abc" * 1000
        assert failure(f'(http/get "{url}" {{:max-bytes 2999}})').message == (
            f"http GET {url}: the body is larger than 2999 bytes"
        )
    with serving(answering(reply(b"not gzip", content_encoding="gzip"))) as url:
        assert failure(f'(http/get "{url}")').message == (
            f"http GET {url}: the body is not valid gzip data (incorrect header check)"
        )


def test_the_limit_of_a_body() -> None:
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + b"5\r\nabcde\r\n" * 3 + b"0\r\n\r\n"
    for data in (reply("x" * 15), chunked):
        with serving(answering(data)) as url:
            assert len(run(f'(:body (http/get "{url}" {{:max-bytes 15}}))')) == 15
            error = failure(f'(http/get "{url}" {{:max-bytes 14}})')
            assert error.message == f"http GET {url}: the body is larger than 14 bytes"
            assert error.hint == "raise the limit with {:max-bytes n}"


# Redirects, connections


def test_redirects(echo: str) -> None:
    received = said(run(f'(http/post "{echo}/moved/8" "again")'))
    assert (received["method"], received["path"], received["body"]) == ("POST", "/echo", "again")
    assert failure(f'(http/get "{echo}/moved/10")').message == f"http GET {echo}/moved/10: more than 10 redirects"
    with serving(answering(reply(status="302 Found", location=f"{echo}/x"))) as url:
        received = said(run(f'(http/post "{url}" "b" {{:headers {{:authorization "secret" :x-a "1"}}}})'))
        assert (received["method"], received["body"]) == ("GET", "")
        assert not {"authorization", "x-a"} & received["headers"].keys()
    with serving(answering(reply(status="302 Found", location="file:///etc/passwd"))) as url:
        assert failure(f'(http/get "{url}")').message.startswith(f"http GET {url}: invalid URL: ")


def test_cookies_are_not_kept(echo: str) -> None:
    run(f'(http/get "{echo}/cookie")')
    assert "cookie" not in said(run(f'(http/get "{echo}")'))["headers"]


def test_connections_are_reused_and_stale_ones_replaced() -> None:
    connections = []

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        for _ in range(2):  # requests, then it hangs up
            await received(reader)
            writer.write(reply(str(len(connections))))

    with serving(handler) as url:
        assert [run(f'(:body (http/get "{url}"))') for _ in range(4)] == ["1", "1", "2", "2"]


def test_a_connection_that_ended_while_nobody_looked_is_not_used() -> None:
    """The server hangs up while the program computes; a POST can't be tried twice, so it must not be sent there."""
    answered, closed = Happening(), Happening()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply((await received(reader)).body))
        await asyncio.to_thread(answered.happened)
        writer.close()
        await writer.wait_closed()
        closed.happens()

    with serving(handler) as url:
        assert run(f'(:body (http/post "{url}" "first"))') == "first"
        answered.happens()
        assert closed.happened()
        assert run(f'(:body (http/post "{url}" "second"))') == "second"


def test_a_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch, echo: str) -> None:
    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(reply("via proxy: " + (await received(reader)).target))

    with serving(proxy) as url:
        monkeypatch.setenv("HTTP_PROXY", url)
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert run('(:body (http/get "http://somewhere.invalid/x"))') == "via proxy: http://somewhere.invalid/x"
        assert run(f'(:status (http/get "{echo}"))') == 200
    monkeypatch.setenv("HTTP_PROXY", "gopher://x")
    message = failure('(http/get "http://elsewhere.invalid/")').message
    assert message.startswith("http GET http://elsewhere.invalid/: could not connect (the proxy of the environment")
