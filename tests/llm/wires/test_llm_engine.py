"""A real engine: llama.cpp's server with tiny models of known words, over the OpenAI and the Anthropic wire.

The server's path is in SEMA_LLAMA_SERVER, or it is `llama-server` in the tests' cache folder. To build it: unpack the
source distribution of llama-cpp-python, then in its `vendor/llama.cpp` (ten minutes on one core):

    cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLAMA_OPENSSL=OFF -DGGML_NATIVE=OFF \\
        -DBUILD_SHARED_LIBS=OFF
    ninja -C build llama-server
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_support import CACHE, NO_SDK, free_port, run
from llm_support import llm as llm

from sema_runtime.values.errors import LlmError

TOOL = """
(define asked '())
(deftool get_weather "The weather in a city" {:city {:type :string}}
  (fn (city) (set! asked (cons city asked)) (str "4 C in " city)))
(defagent forecaster {:tools [get_weather] :max-turns 3})
"""


class Engine:
    """A running server. log: what it wrote."""

    def __init__(self, model: Path, log: Path, *options: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = log
        command = [str(server_file()), "-m", str(model), "--jinja", "--temp", "0", "-np", "2", "-t", "1"]
        command += [
            "--no-cache-prompt",
            "--alias",
            "tiny",
            "--host",
            "127.0.0.1",
            "--port",
            str(self.port),
            "--api-key",
            "K",
            *options,
        ]
        with log.open("wb") as output:
            self.process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                self.ask("/health")
                return
            except OSError:
                time.sleep(0.05)
        self.stop()
        pytest.fail(f"llama-server did not start: {self.log.read_text(errors='replace')[-500:]}")

    def ask(self, path: str) -> Any:
        question = urllib.request.Request(self.url + path, headers={"authorization": "Bearer K"})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(question, timeout=5) as reply:
            return json.loads(reply.read())

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def server_file() -> Path:
    file = Path(os.environ.get("SEMA_LLAMA_SERVER") or CACHE / "llama-server")
    if not file.exists():
        pytest.skip(f"there is no engine at {file}; this file says how to build one")
    return file


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    server_file()
    pytest.importorskip("gguf", reason=NO_SDK)
    import llama_models as make

    folder = tmp_path_factory.mktemp("models")
    make.write(folder / "talker.gguf", make.TALKER)
    make.write(folder / "caller.gguf", make.CALLER)
    make.write(folder / "babbler.gguf", make.BABBLER, again=True)
    return folder


@pytest.fixture(scope="module")
def engines(models: Path) -> Iterator[dict[str, Engine]]:
    made = {name: Engine(models / f"{name}.gguf", models / f"{name}.log") for name in ("talker", "caller", "babbler")}
    yield made
    for engine in made.values():
        engine.stop()


@pytest.fixture(params=["openai", "anthropic"])
def wire(request: pytest.FixtureRequest, llm: None) -> str:
    return str(request.param)


def configure(wire: str, engine: Engine, key: str = "K") -> None:
    name, path = ("tiny", "/v1") if wire == "openai" else ("anthropic", "")
    run(f'(llm/configure :{name} {{:api-key "{key}" :base-url "{engine.url}{path}" :default-model "tiny"}})')


def test_completion_and_usage(engines: dict[str, Engine], wire: str) -> None:
    configure(wire, engines["talker"])
    assert run('(llm/complete "hi" {:max-tokens 20 :temperature 0 :system "Be brief."})') == "Hello from a tiny model."
    used = run("(llm/last-usage)")
    assert used.get("completion-tokens") == 6
    assert used.get("prompt-tokens") > 10
    assert run('(llm/complete "hi" {:max-tokens 2})') == "Hello from"


def test_stream(engines: dict[str, Engine], wire: str) -> None:
    configure(wire, engines["talker"])
    value = run('(define heard []) (list (llm/stream "hi" (fn (s) (set! heard (append heard [s])))) heard)')
    assert value[0] == "Hello from a tiny model."
    assert "".join(value[1]) == value[0]
    assert len(value[1]) >= 5
    assert run("(:completion-tokens (llm/last-usage))") in ((6, 0) if wire == "openai" else (6,))


def test_conversation(engines: dict[str, Engine], wire: str) -> None:
    configure(wire, engines["talker"])
    program = '(-> (conversation/new) (conversation/say "a") (conversation/say "b") (conversation/length))'
    assert run(program) == 4


def test_tools_for_ever_end_at_the_turn_limit(engines: dict[str, Engine], wire: str) -> None:
    """The model calls its tool on every turn."""
    configure(wire, engines["caller"])
    value = run(TOOL + '(list (agent/run forecaster "Weather in Oslo?") asked (:total-tokens (llm/session-usage)))')
    assert (value[0], list(value[1])) == ("", ["Oslo"] * 3)
    assert value[2] > 3 * 50


def test_tools_for_ever_end_at_the_budget(engines: dict[str, Engine], wire: str) -> None:
    configure(wire, engines["caller"])
    with pytest.raises(LlmError, match=r"^token budget exceeded: used \d+ of 600 tokens"):
        run(
            TOOL
            + '(llm/with-budget {:max-tokens 600} (fn () (agent/run (agent {:tools [get_weather] :max-turns 99}) "?")))'
        )


def test_streamed_calls(engines: dict[str, Engine], wire: str) -> None:
    configure(wire, engines["caller"])
    value = run(TOOL + '(agent/run forecaster "Weather?" {:on-text (fn (s) nil)}) asked')
    assert list(value) == ["Oslo"] * 3


def test_strict_tools(engines: dict[str, Engine], wire: str) -> None:
    configure(wire, engines["caller"])
    assert list(run(TOOL + '(agent/run forecaster "Weather?" {:mode :native}) asked')) == ["Oslo"] * 3


def test_the_engine_holds_a_model_to_a_schema(engines: dict[str, Engine], llm: None) -> None:
    """The talker would say hello; a grammar made of the schema has it say what fits."""
    configure("openai", engines["talker"])
    schema = "{:color {:type :string :enum [:red :blue]} :loud :boolean :place {:fields {:side {:enum [:left]}}}}"
    value = run(f'(llm/extract {schema} "It is red." {{:mode :native :retries 0}})')
    assert value.get("color") in ("red", "blue")
    assert isinstance(value.get("loud"), bool)
    assert value.get("place").get("side") == "left"
    with pytest.raises(LlmError, match="failed to parse LLM JSON response"):
        run('(llm/extract {:color :string} "It is red.")')  # JSON mode alone


def test_wrong_key(engines: dict[str, Engine], wire: str) -> None:
    configure(wire, engines["talker"], "wrong")
    with pytest.raises(LlmError, match=r"^API error: 401 - ") as caught:
        run('(llm/complete "hi")')
    assert "refused the key" in str(caught.value.hint)


def test_a_request_that_the_server_refuses(engines: dict[str, Engine], llm: None) -> None:
    """Images need a projector, which there isn't; a prompt may not be longer than the context."""
    configure("openai", engines["talker"])
    with pytest.raises(LlmError, match=r"^API error: (400|500) - "):
        run('(llm/chat [(message/with-image :user "What?" #u8(137 80 78 71))])')
    with pytest.raises(LlmError, match=r"^API error: 400 - .*context"):
        run('(llm/complete (string/repeat "word " 20000))')


def test_many_at_once(engines: dict[str, Engine], wire: str) -> None:
    configure(wire, engines["talker"])
    assert list(run("(llm/batch (map str (range 12)))")) == ["Hello from a tiny model."] * 12


def generations(engine: Engine) -> list[int]:
    """How many tokens, those of the prompt included, each generation had that has ended; waits for those that run."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(slot["is_processing"] for slot in engine.ask("/slots")):
        time.sleep(0.01)
    return [
        int(count) for count in re.findall(r"stop processing: n_tokens = (\d+)", engine.log.read_text(errors="replace"))
    ]


def test_cancelling_a_stream_stops_the_generation(engines: dict[str, Engine], wire: str) -> None:
    engine = engines["babbler"]
    configure(wire, engine)
    program = """
    (define heard 0)
    (define task nil)
    (define (hear s) (set! heard (+ heard 1)) (when (= heard 20) (async/cancel task)))
    (set! task (async (llm/stream "go" hear {:max-tokens 16000})))
    (list (try (await task) (catch e :cancelled)) heard)
    """
    value = run(program)
    assert value[1] < 1000
    assert generations(engine)[-1] < 8000


def test_a_callback_that_raises_stops_the_generation(engines: dict[str, Engine], wire: str) -> None:
    engine = engines["babbler"]
    configure(wire, engine)
    with pytest.raises(Exception, match="enough"):
        run('(llm/stream "go" (fn (s) (error "enough")) {:max-tokens 16000})')
    assert generations(engine)[-1] < 8000
