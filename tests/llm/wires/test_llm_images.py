"""Pictures: data read from them, what is sent, and files that are none."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, chat_reply, problems, run, serving
from llm_support import llm as llm
from native_support import configured, reply_of

from sema_runtime import capabilities
from sema_runtime.llm.pictures import LIMIT, media_type_of
from sema_runtime.values.errors import IoError, LlmError, PermissionDenied, SemaError, SemaTypeError
from sema_runtime.values.printer import to_text

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
KINDS = {
    "image/png": PIXEL,
    "image/jpeg": b"\xff\xd8\xff\xe0",
    "image/gif": b"GIF89a",
    "image/webp": b"RIFF\x00\x00\x00\x00WEBPVP8 ",
    "application/pdf": b"%PDF-1.7",
    "": b"RIFF\x00\x00\x00\x00WAVE",
}


@pytest.fixture
def png(tmp_path: Path) -> Path:
    file = tmp_path / "a.png"
    file.write_bytes(PIXEL)
    return file


def pictures(wire: str, body: dict[str, Any]) -> list[tuple[str, bytes]]:
    """(media type, data) of each picture in a request's first user message."""
    if wire == "gemini":
        parts = [part["inlineData"] for part in body["contents"][0]["parts"] if "inlineData" in part]
        return [(part["mimeType"], base64.b64decode(part["data"])) for part in parts]
    message = next(message for message in body["messages"] if message["role"] == "user")
    if wire == "ollama":
        return [("image/png", base64.b64decode(data)) for data in message["images"]]
    assert [block["type"] for block in message["content"]][-1] == "text", "images come before the text"
    if wire == "anthropic":
        sources = [block["source"] for block in message["content"] if block["type"] == "image"]
        return [(source["media_type"], base64.b64decode(source["data"])) for source in sources]
    urls = [block["image_url"]["url"] for block in message["content"] if block["type"] == "image_url"]
    return [(url[5:].partition(";")[0], base64.b64decode(url.partition(",")[2])) for url in urls]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind or "none")
def test_kinds(kind: str) -> None:
    assert media_type_of(KINDS[kind]) == kind


@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini", "ollama"])
@pytest.mark.parametrize("options", ["", "{:mode :native}"], ids=["in words", "native"])
def test_extract_from_image(wire: str, options: str, png: Path, llm: None) -> None:
    with serving(Answer(body=reply_of(wire, '```json\n{"total": 12.5, "odd": [null]}\n```'))) as server:
        for source in (json.dumps(str(png)), f'(file/read-bytes "{png}")'):
            value = run(
                configured(wire, server.url) + f"(llm/extract-from-image {{:total :string}} {source} {options})"
            )
            assert to_text(value) == "{:odd (nil) :total 12.5}", "not validated"
    for request in server.received:
        assert pictures(wire, request.body) == [("image/png", PIXEL)]
        assert problems(wire, request.body) == []
    assert "<string>" in json.dumps(server.received[0].body)


def test_a_reply_that_is_no_json_is_not_asked_for_again(png: Path, llm: None) -> None:
    with serving(Answer(body=chat_reply("a cat"))) as server, pytest.raises(LlmError) as caught:
        run(configured("openai", server.url) + f'(llm/extract-from-image {{:a :string}} "{png}")')
    assert caught.value.message == (
        "failed to parse LLM JSON response: expected value at line 1 column 1\nResponse was: a cat"
    )
    assert len(server.received) == 1


@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini", "ollama"])
def test_a_picture_that_is_none(wire: str, tmp_path: Path, llm: None) -> None:
    file = tmp_path / "notes.png"
    file.write_text("just text")
    with (
        serving(Answer(body=reply_of(wire, "{}"))) as server,
        pytest.raises(LlmError, match="the image is none") as caught,
    ):
        run(configured(wire, server.url) + f'(llm/extract-from-image {{:a :string}} "{file}")')
    assert server.received == [], "nothing was sent"
    assert caught.value.message.startswith("Config error: ")


def test_files_that_cannot_be_read(tmp_path: Path, llm: None) -> None:
    run('(llm/define-provider :p {:complete (fn (r) "{}")})')
    with pytest.raises(IoError, match=r"^llm/extract-from-image: .*/none\.png: No such file"):
        run(f'(llm/extract-from-image {{}} "{tmp_path}/none.png")')
    with pytest.raises(IoError, match=r"^llm/extract-from-image: .*: Is a directory"):
        run(f'(llm/extract-from-image {{}} "{tmp_path}")')
    with pytest.raises(SemaError, match="is a character device, not a regular file"):
        run('(llm/extract-from-image {} "/dev/zero")')
    with pytest.raises(IoError, match="NUL byte"):
        run('(llm/extract-from-image {} "a\\x00;b")')


def test_a_huge_file_is_not_read(tmp_path: Path, llm: None) -> None:
    huge = tmp_path / "huge.png"
    with huge.open("wb") as file:
        file.truncate(LIMIT + 1)
    with pytest.raises(IoError, match=rf"huge\.png: a picture of {LIMIT + 1} bytes; models take at most {LIMIT}"):
        run(f'(llm/extract-from-image {{}} "{huge}")')
    with pytest.raises(SemaError, match=f"^llm/extract-from-image: a picture of {LIMIT + 1} bytes"):
        run(f"(llm/extract-from-image {{}} (make-bytevector {LIMIT + 1} 0))")


@pytest.mark.parametrize("source", ["42", "nil", ":a", "[1 2]"])
def test_a_source_of_another_type(source: str, llm: None) -> None:
    with pytest.raises(SemaTypeError, match="expected string path or bytevector, got"):
        run(f"(llm/extract-from-image {{}} {source})")


def test_the_sandbox_guards_files(png: Path, tmp_path: Path, llm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", frozenset())
    monkeypatch.setattr(capabilities, "allowed", [str(tmp_path / "elsewhere")])
    with pytest.raises(
        PermissionDenied, match=r"llm/extract-from-image — path '.*a\.png' is outside allowed directories"
    ):
        run(f'(llm/extract-from-image {{}} "{png}")')
    monkeypatch.setattr(capabilities, "allowed", None)
    monkeypatch.setattr(capabilities, "denied", frozenset({"fs-read"}))
    with pytest.raises(PermissionDenied, match="fs-read"):
        run(f'(llm/extract-from-image {{}} "{png}")')


@pytest.mark.parametrize("wire", ["openai", "anthropic", "gemini", "ollama"])
def test_messages_with_pictures(wire: str, png: Path, llm: None) -> None:
    with serving(Answer(body=reply_of(wire, "A dot."))) as server:
        message = f'(message/with-image :user "What is it?" (file/read-bytes "{png}"))'
        assert run(configured(wire, server.url) + f"(llm/chat [{message}])") == "A dot."
    [request] = server.received
    assert pictures(wire, request.body) == [("image/png", PIXEL)]


def test_media_types_of_messages(llm: None) -> None:
    with serving(Answer(body=chat_reply("ok"))) as server:
        run(
            configured("openai", server.url)
            + '(llm/chat [(message/with-image :user "a" #u8(1 2 3) {:media-type "image/heic"})])'
            + '(llm/chat [(message/with-image :user "a" #u8(1 2 3))])'
        )
    kinds = [pictures("openai", request.body)[0][0] for request in server.received]
    assert kinds == ["image/heic", "application/octet-stream"]


def test_prompts_and_conversations_send_text_only(llm: None) -> None:
    message = '(message/with-image :user "a" #u8(137 80 78 71))'
    with serving(Answer(body=chat_reply("ok"))) as server:
        run(configured("openai", server.url) + f"(llm/complete (prompt {message}))")
    assert server.received[0].body["messages"] == [{"role": "user", "content": "a"}]
