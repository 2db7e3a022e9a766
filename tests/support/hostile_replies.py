"""What a server can do to an HTTP client: one case each, with the outcomes that are safe.

`serving(case)` plays a case on a raw socket. A client asks for `/case` and then for `/second`, as a program that keeps
using the server does: the second answer must be the honest one, or an error. scripts/compare_http.py runs several
clients over the table, tests/network/test_hostile_replies.py ours.
"""

from __future__ import annotations

import gzip
import socket
import struct
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count, repeat
from typing import NamedTuple

MOST_BODY = 1 << 20  # bytes that a client asks for at most
MOST_HELD = 48 << 20  # bytes by which a client's memory may grow meanwhile
MOST_SENT = 96 << 20  # bytes after which an endless reply ends all the same
HONEST = b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\nsecond"
SMUGGLED = b"HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\nsmuggled"
ERROR, TIMEOUT = b"<error>", b"<timeout>"
SECRETS = {
    "Authorization": "Bearer s3cret",
    "Cookie": "session=s3cret",
    "X-Api-Key": "s3cret",
    "api-key": "s3cret",
    "x-goog-api-key": "s3cret",
    "X-Of-My-Own": "s3cret",
}


class Case(NamedTuple):
    """reply: the pieces that are sent for `/case`; a number is a pause in seconds, None a reset of the connection.

    safe: the bodies that may come out of it, ERROR and TIMEOUT among them. closes: the server hangs up behind it.
    first: it is sent before the request comes. secrets: the request has headers that must not get elsewhere.
    idle: seconds that the client waits before it asks again.
    """

    name: str
    reply: Callable[[str], Iterable[bytes | float | None]]
    safe: frozenset[bytes]
    method: str = "GET"
    closes: bool = False
    first: bool = False
    secrets: bool = False
    idle: float = 0.0


def head(*lines: str, status: str = "200 OK") -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode("latin-1")


def whole(body: bytes, *lines: str, status: str = "200 OK") -> bytes:
    return head(f"content-length: {len(body)}", *lines, status=status) + body


def chunked(*chunks: bytes, end: bytes = b"0\r\n\r\n") -> bytes:
    framed = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    return head("transfer-encoding: chunked") + framed + end


def packed(body: bytes, coding: str = "gzip") -> bytes:
    return whole(body, f"content-encoding: {coding}")


def raw_deflate(body: bytes) -> bytes:
    maker = zlib.compressobj(9, zlib.DEFLATED, -15)
    return maker.compress(body) + maker.flush()


@cache
def zeros(mebibytes: int, prefix: bytes = b"\x1f\x8b\x08\0\0\0\0\0\0\xff") -> bytes:
    """Compressed zeros without their end: a mebibyte is a kilobyte, which is repeated."""
    maker = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = maker.compress(bytes(1 << 20)) + maker.flush(zlib.Z_FULL_FLUSH)
    return prefix + block * mebibytes


@cache
def layered(depth: int) -> bytes:
    """A few kilobytes that become 4 GiB after some rounds of gzip."""
    body = zeros(4096)
    for _ in range(depth - 1):
        body = gzip.compress(body)
    return body


def drip(data: bytes, pause: float = 0.05) -> Iterator[bytes | float]:
    for index in range(len(data)):
        yield data[index : index + 1]
        yield pause


def endless(start: bytes, more: bytes) -> Iterator[bytes]:
    yield start
    yield from repeat(more, MOST_SENT // len(more))


def _case(name: str, reply: object, *safe: bytes, **more: object) -> Case:
    if isinstance(reply, bytes):
        data = reply
        return Case(name, lambda _: (data,), frozenset(safe), **more)  # type: ignore[arg-type]
    return Case(name, reply, frozenset(safe), **more)  # type: ignore[arg-type]


def _packed_cases() -> list[Case]:
    one, two, text = gzip.compress(b"one"), gzip.compress(b"two"), b"some text " * 20
    good, wrapped, bare = gzip.compress(text), zlib.compress(text), raw_deflate(text)
    wrong_sum = good[:-8] + bytes([good[-8] ^ 1]) + good[-7:]
    chunks = [good[index : index + 1] for index in range(len(good))]
    nothing, mixed = gzip.compress(b""), zlib.compress(zeros(512))
    return [
        _case("gzip bomb", packed(zeros(64)), ERROR),
        _case("gzip bomb in chunks of one byte", lambda _: (_in_small_chunks(zeros(16)),), ERROR),
        _case("gzip twice: 10 KB for 4 GiB", lambda _: (packed(layered(2), "gzip, gzip"),), ERROR, layered(2)),
        _case("gzip three times", lambda _: (packed(layered(3), "gzip, gzip, gzip"),), ERROR, layered(3)),
        _case("gzip twice, in two headers", lambda _: (_in_two_headers(layered(2)),), ERROR),
        _case("gzip and deflate bomb", packed(mixed, "gzip, deflate"), ERROR, mixed),
        _case("deflate bomb, zlib", packed(zeros(64, b"\x78\x9c"), "deflate"), ERROR),
        _case("deflate bomb, bare", packed(zeros(64, b""), "deflate"), ERROR),
        _case("a thousand codings", packed(good, ", ".join(["gzip"] * 1000)), ERROR, good),
        _case("gzip, cut", packed(good[:-12]), ERROR),
        _case("gzip, its trailer cut", packed(good[:-4]), ERROR),
        _case("deflate, cut, zlib", packed(wrapped[:-6], "deflate"), ERROR),
        _case("deflate, cut, bare", packed(bare[:-2], "deflate"), ERROR),
        _case("gzip, wrong checksum", packed(wrong_sum), ERROR),
        _case("gzip, wrong length", packed(good[:-1] + b"\1"), ERROR),
        _case("gzip that is none", packed(text), ERROR),
        _case("gzip, two members", packed(one + two), b"onetwo", ERROR),
        _case("gzip, second member cut", packed(one + two[:-6]), ERROR),
        _case("gzip, rubbish behind it", packed(one + b"rubbish"), ERROR),
        _case("gzip, zeros behind it", packed(one + bytes(100)), b"one", ERROR),
        _case("deflate, rubbish behind it", packed(wrapped + b"rubbish", "deflate"), ERROR),
        _case("gzip, 20,000 empty members", packed(nothing * 20_000 + one), b"one", ERROR),
        _case("gzip, empty members for ever", lambda _: endless(_open("gzip"), nothing * 1000), ERROR, TIMEOUT),
        _case("gzip, nothing at all", packed(b""), b""),
        _case(
            "gzip in chunks of one byte", chunked(*chunks).replace(b"\r\n", b"\r\ncontent-encoding: gzip\r\n", 1), text
        ),
        _case("x-gzip", packed(good, "x-gzip"), text, good),
        _case("identity and gzip", packed(good, "identity, gzip"), text, good),
        _case("deflate, zlib", packed(wrapped, "deflate"), text),
        _case("deflate, bare", packed(bare, "deflate"), text),
        _case("a coding that was not asked for", packed(b"\x0b\x02\x80abc\x03", "br"), b"\x0b\x02\x80abc\x03", ERROR),
    ]


def _in_small_chunks(body: bytes) -> bytes:
    framed = b"".join(b"1\r\n%c\r\n" % byte for byte in body)
    return head("transfer-encoding: chunked", "content-encoding: gzip") + framed + b"0\r\n\r\n"


def _in_two_headers(body: bytes) -> bytes:
    return whole(body, "content-encoding: gzip", "content-encoding: gzip")


def _open(coding: str) -> bytes:
    return head("connection: close", f"content-encoding: {coding}")


def _framing_cases() -> list[Case]:
    either = (b"hello", ERROR)
    return [
        _case("a second reply in the same packet", whole(b"hello") + SMUGGLED, *either),
        _case("a second reply behind chunks", chunked(b"hello") + SMUGGLED, *either),
        _case("a second reply a moment later", lambda _: (whole(b"hello"), 0.05, SMUGGLED), *either, idle=0.3),
        _case("the beginning of a second reply", whole(b"hello") + SMUGGLED[:30], *either),
        _case("a reply before the request", whole(b"hello") + SMUGGLED, *either, first=True),
        _case("HEAD with a body", whole(SMUGGLED), b"", ERROR, method="HEAD"),
        _case("204 with a body", head(status="204 No Content") + SMUGGLED, b"", ERROR),
        _case("204 with a length", whole(SMUGGLED, status="204 No Content"), b"", ERROR),
        _case("304 with a body", head(status="304 Not Modified") + SMUGGLED, b"", ERROR),
        _case("1xx before the reply", head(status="103 Early Hints") + whole(b"hello"), b"hello"),
        _case("100 with a body", head("content-length: 5", status="100 Continue") + b"xxxxx" + SMUGGLED, ERROR),
        _case("1xx for ever", lambda _: endless(b"", head(status="103 Early Hints") * 100), ERROR),
        _case("101 that nobody asked for", head("upgrade: x", status="101 Switching Protocols") + SMUGGLED, b"", ERROR),
        _case(
            "length and chunks",
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n" + chunked(b"hello")[17:] + SMUGGLED,
            *either,
        ),
        _case(
            "chunks and length",
            chunked(b"hello").replace(b"chunked\r\n", b"chunked\r\ncontent-length: 30\r\n"),
            *either,
        ),
        _case("the same length twice", head("content-length: 5", "content-length: 5") + b"hello", *either),
        _case("two lengths", head("content-length: 5", "content-length: 35") + b"hello" + SMUGGLED, ERROR),
        _case("two lengths in one header", head("content-length: 5, 6") + b"hello" + SMUGGLED, ERROR),
        _case("a negative length", head("content-length: -5") + b"hello", ERROR),
        _case("a length with a sign", head("content-length: +5") + b"hello", ERROR),
        _case("a length in hexadecimal", head("content-length: 0x5") + b"hello", ERROR),
        _case("a length of two words", head("content-length: 5 5") + b"hello", ERROR),
        _case("a length that is empty", head("content-length: ") + b"hello", ERROR, closes=True),
        _case("a huge length", head("content-length: 99999999999999999999999999") + b"hello", ERROR),
        _case("a length of 60,000 digits", head("content-length: " + "9" * 60_000) + b"hello", ERROR),
        _case("more than the limit is announced", head("content-length: 1099511627776") + b"hello", ERROR),
        _case(
            "an unknown transfer coding", head("transfer-encoding: xchunked") + b"5\r\nhello\r\n", ERROR, closes=True
        ),
        _case("chunked twice", chunked(b"hello").replace(b": chunked", b": chunked, chunked"), ERROR),
        _case(
            "chunked in two headers",
            chunked(b"hello").replace(b"\r\n\r\n", b"\r\ntransfer-encoding: chunked\r\n\r\n", 1),
            *either,
        ),
        _case("a chunk of negative length", head("transfer-encoding: chunked") + b"-5\r\nhello\r\n0\r\n\r\n", ERROR),
        _case("a chunk of huge length", head("transfer-encoding: chunked") + b"f" * 40 + b"\r\nhello", ERROR),
        _case("a chunk length with 0x", head("transfer-encoding: chunked") + b"0x5\r\nhello\r\n0\r\n\r\n", ERROR),
        _case(
            "a chunk that is longer than it says",
            head("transfer-encoding: chunked") + b"3\r\nhello\r\n0\r\n\r\n",
            ERROR,
        ),
        _case(
            "chunk lines that end with LF",
            head("transfer-encoding: chunked") + b"5\nhello\n0\n\n",
            ERROR,
            TIMEOUT,
            b"hello",
        ),
        _case(
            "a chunk extension for ever",
            lambda _: endless(head("transfer-encoding: chunked") + b"5;", b"x" * 65536),
            ERROR,
        ),
        _case("large extensions, little data", lambda _: endless(head("transfer-encoding: chunked"), _EXTENDED), ERROR),
        _case(
            "chunks of one byte for ever",
            lambda _: endless(head("transfer-encoding: chunked"), b"1\r\nx\r\n" * 9000),
            ERROR,
            TIMEOUT,
        ),
        _case("trailers for ever", lambda _: endless(chunked(b"hello", end=b"0\r\n"), b"x: y\r\n" * 9000), ERROR),
        _case("a trailer with a length", chunked(b"hello", end=b"0\r\ncontent-length: 99\r\n\r\n"), *either),
        _case("no last chunk", chunked(b"hello", end=b""), ERROR, closes=True),
        _case("a body for ever", lambda _: endless(head("connection: close"), b"x" * 65536), ERROR),
        _case("half of a body", head("content-length: 10") + b"hello", ERROR, closes=True),
        _case("a connection that ends without a word", whole(b"hello"), b"hello", closes=True),
        _case(
            "HTTP/1.0 with chunks",
            chunked(b"hello").replace(b"1.1", b"1.0", 1),
            b"hello",
            chunked(b"hello")[47:],
            ERROR,
            closes=True,
        ),
    ]


_EXTENDED = b"1;" + b"e" * 16000 + b"\r\nx\r\n"


def _head_cases() -> list[Case]:
    either = (b"hello", ERROR)
    return [
        _case("NUL in a header", head("x: a\0b", "content-length: 5") + b"hello", ERROR),
        _case("a carriage return in a header", head("x: a\rb: c", "content-length: 5") + b"hello", *either),
        _case("a folded header", head("x: a\r\n b", "content-length: 5") + b"hello", *either),
        _case("a folded length", head("content-length:\r\n 5") + b"hello", *either),
        _case("lines that end with LF", whole(b"hello").replace(b"\r\n", b"\n"), *either),
        _case("a header without a colon", head("nonsense", "content-length: 5") + b"hello", *either),
        _case("a space before the colon", head("content-length : 5") + b"hello", *either, closes=True),
        _case("a header without a name", head(": x", "content-length: 5") + b"hello", *either),
        _case("10,000 headers", head(*[f"x-{n}: y" for n in range(10_000)], "content-length: 5") + b"hello", ERROR),
        _case("headers for ever", lambda _: endless(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n" * 9000), ERROR),
        _case("a header line for ever", lambda _: endless(b"HTTP/1.1 200 OK\r\nx: ", b"y" * 65536), ERROR),
        _case("a reason for ever", lambda _: endless(b"HTTP/1.1 200 ", b"y" * 65536), ERROR),
        _case("empty lines for ever", lambda _: endless(b"", b"\r\n" * 9000), ERROR),
        _case("HTTP/0.9", b"hello", ERROR, closes=True),
        _case("HTTP/2.0", whole(b"hello").replace(b"1.1", b"2.0", 1), *either),
        _case("a status of two digits", whole(b"hello", status="99 X"), ERROR),
        _case("a status of four digits", whole(b"hello", status="2000 X"), ERROR),
        _case("a status of letters", whole(b"hello", status="abc OK"), ERROR),
        _case("no status", b"HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello", ERROR),
        _case("another protocol", b"SSH-2.0-OpenSSH_9.9\r\n\r\n", ERROR),
        _case("nothing, then the end", b"", ERROR, closes=True),
        _case("the end in the status line", b"HTTP/1.1 2", ERROR, closes=True),
        _case("the end in the headers", b"HTTP/1.1 200 OK\r\ncontent-le", ERROR, closes=True),
        _case("a reset", lambda _: (None,), ERROR),
        _case("a reset in the body", lambda _: (head("content-length: 10") + b"hello", 0.02, None), ERROR),
        _case("a status line that drips", lambda _: drip(b"HTTP/1.1 200 " + b"x" * 200), TIMEOUT, ERROR),
        _case("headers that drip", lambda _: drip(b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 40), TIMEOUT, ERROR),
        _case("a body that drips", lambda _: (head("content-length: 999"), *drip(b"x" * 200)), TIMEOUT, ERROR),
        _case(
            "1xx that drip",
            lambda _: [part for _ in range(90) for part in (head(status="102 Wait"), 0.1)],
            TIMEOUT,
            ERROR,
        ),
        _case("silence", lambda _: (8.0,), TIMEOUT),
    ]


def _redirect_cases() -> list[Case]:
    def to(target: str, status: str = "302 Found") -> Callable[[str], Iterable[bytes]]:
        return lambda elsewhere: (whole(b"", f"location: {target.replace('ELSEWHERE', elsewhere)}", status=status),)

    away = "http://ELSEWHERE/elsewhere"
    landed = b"elsewhere"
    return [
        *[
            _case(f"{status[:3]} to another origin, with keys", to(away, status), landed, ERROR, secrets=True)
            for status in ("301 Moved", "302 Found", "303 See", "307 Temporary", "308 Permanent")
        ],
        _case("a redirect without scheme, with keys", to("//ELSEWHERE/elsewhere"), landed, ERROR, secrets=True),
        _case("307 of a POST elsewhere, with keys", to(away, "307 T"), landed, ERROR, method="POST", secrets=True),
        _case("a redirect with a user", to("http://me:pw@ELSEWHERE/elsewhere"), landed, ERROR, secrets=True),
        _case("a redirect to itself", to("/case"), ERROR),
        _case("a redirect to a file", to("file:///etc/passwd"), ERROR),
        _case("a redirect to ftp", to("ftp://ELSEWHERE/x"), ERROR),
        _case("a redirect to javascript", to("javascript:alert(1)"), ERROR),
        _case("a redirect to data", to("data:text/plain,smuggled"), ERROR),
        _case("a redirect to port 99999", to("http://127.0.0.1:99999/"), ERROR),
        _case("a redirect to what is no URL", to("http://[::1/"), ERROR),
        _case("a redirect to two places", _to_two_places, ERROR, landed),
        _case("a redirect with a line in it", to("/second%0d%0ax-evil: 1"), b"second", ERROR),
        _case("a redirect with a reply behind it", lambda _: (_TURNED + SMUGGLED,), b"second", ERROR),
        _case("a redirect with an endless body", lambda _: endless(_ENDLESSLY, b"x" * 65536), b"second", ERROR),
    ]


def _to_two_places(elsewhere: str) -> Iterable[bytes]:
    yield whole(b"", "location: /second", f"location: http://{elsewhere}/elsewhere", status="302 Found")


_TURNED = whole(b"", "location: /second", status="302 Found")
_ENDLESSLY = head("location: /second", "transfer-encoding: chunked", status="302 Found") + b"fffffff\r\n"


@cache
def cases() -> tuple[Case, ...]:
    return (*_packed_cases(), *_framing_cases(), *_head_cases(), *_redirect_cases())


# Playing them


class Hosting(NamedTuple):
    """Where a case is played. seen: the heads of the requests that came to the other origin."""

    url: str
    seen: list[bytes]


@contextmanager
def serving(case: Case) -> Iterator[Hosting]:
    """The URL of a server that plays a case, for the time of a `with`."""
    seen: list[bytes] = []
    numbers = count()
    with (
        _listening(lambda peer: _elsewhere(peer, seen)) as other,
        _listening(lambda peer: _play(peer, case, other, next(numbers) == 0)) as own,
    ):
        yield Hosting(f"http://{own}", seen)


@contextmanager
def _listening(serve: Callable[[socket.socket], None]) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0), backlog=16)

    def accept() -> None:
        with suppress(OSError):
            while True:
                peer, _ = listener.accept()
                threading.Thread(target=_served, args=(serve, peer), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def _served(serve: Callable[[socket.socket], None], peer: socket.socket) -> None:
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    peer.settimeout(20)
    with peer, suppress(OSError):
        serve(peer)


def _play(peer: socket.socket, case: Case, elsewhere: str, is_first: bool) -> None:
    ahead = case.first and is_first
    if ahead:
        _send(peer, case, elsewhere)
    while request := _request(peer):
        if not request.split(b" ")[1].endswith(b"/case"):
            peer.sendall(HONEST)
        elif ahead:
            ahead = False
        else:
            _send(peer, case, elsewhere)
            if case.closes:
                return


def _send(peer: socket.socket, case: Case, elsewhere: str) -> None:
    for part in case.reply(elsewhere):
        if part is None:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionResetError
        if isinstance(part, bytes):
            peer.sendall(part)
        else:
            time.sleep(part)


def _elsewhere(peer: socket.socket, seen: list[bytes]) -> None:
    while request := _request(peer):
        seen.append(request)
        peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nelsewhere")


def _request(peer: socket.socket) -> bytes:
    """The next request's head, with its body; b"" at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = peer.recv(65536)
        if not piece:
            return b""
        data += piece
    top, _, rest = data.partition(b"\r\n\r\n")
    length = next((int(line[15:]) for line in top.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0)
    while len(rest) < length:
        rest += peer.recv(65536)
    return top + b"\r\n\r\n" + rest
