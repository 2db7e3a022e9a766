"""Tiny models for llama.cpp whose words are known in advance: each token names the one that follows it.

One layer of Llama with attention and feed-forward weights of zero, one-hot embeddings, and an output matrix that holds
`successor of token`: no download, 2 MB each. A prompt ends with a newline, which leads to the first word of the script;
behind its last word the model ends its turn, or begins again. Words must be longer than a byte. Needs the packages gguf
and numpy (extra `dev-llm`).
"""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

START, END = "<|im_start|>", "<|im_end|>"
STRONG = 5.0  # the weight of the successor; normalised, it wins by far
CONTEXT = 32768

TALKER = ("Hello", " from", " a", " tiny", " model.")
CALLER = ("<tool_call>", '\n{"name": "get_weather", ', '"arguments": {"city": ', '"Oslo"}}\n', "</tool_call>")
BABBLER = (" on", " and", " so", " forth")

TEMPLATE = (
    "{%- if tools %}{{- '<|im_start|>system\\n' }}"
    "{%- if messages[0]['role'] == 'system' %}{{- messages[0]['content'] }}{%- endif %}"
    "{{- '\\n\\n# Tools\\n<tools>' }}{%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{%- endfor %}"
    '{{- \'\\n</tools>\\n\\nAnswer a call as <tool_call>\\n{"name": <name>, "arguments": <object>}\\n</tool_call>'
    "<|im_end|>\\n' }}{%- endif %}"
    "{%- for message in messages %}"
    "{%- if message.role == 'tool' %}"
    "{{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}"
    "{%- elif message.role == 'system' and tools and loop.first %}"
    "{%- else %}"
    "{{- '<|im_start|>' + message.role + '\\n' }}{%- if message.content %}{{- message.content }}{%- endif %}"
    "{%- for call in message.tool_calls or [] %}"
    '{{- \'\\n<tool_call>\\n{"name": "\' + call.function.name + \'", "arguments": \' }}'
    "{{- call.function.arguments | tojson }}{{- '}\\n</tool_call>' }}{%- endfor %}"
    "{{- '<|im_end|>\\n' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)


def write(path: Path, script: tuple[str, ...], again: bool = False) -> None:
    """A model file that says script, then ends its turn, or says it again and again."""
    import gguf
    import numpy as np

    words = [*map(_letters, map(bytes, ([byte] for byte in range(256)))), START, END]
    first = len(words)
    words += [_letters(word.encode()) for word in script]
    size = -(-len(words) // 32) * 32
    words += [f"<unused{number}>" for number in range(size - len(words))]
    kinds = [gguf.TokenType.NORMAL] * len(words)
    kinds[words.index(START)] = kinds[words.index(END)] = gguf.TokenType.CONTROL

    writer: Any = gguf.GGUFWriter(path, "llama")
    _describe(writer, gguf, size)
    writer.add_token_list(words)
    writer.add_token_types(kinds)
    output = np.zeros((size, size), dtype=np.float32)
    following = [ord("\n"), *range(first, first + len(script))]
    for current, successor in pairwise(following):
        output[successor, current] = STRONG
    output[first if again else words.index(END), following[-1]] = STRONG
    tensors = {"token_embd": np.eye(size, dtype=np.float32), "output": output}
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        tensors[f"blk.0.{name}"] = np.zeros((size, size), dtype=np.float32)
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        tensors[name] = np.ones(size, dtype=np.float32)
    for name, tensor in tensors.items():
        writer.add_tensor(f"{name}.weight", tensor if tensor.ndim == 1 else tensor.astype(np.float16))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _describe(writer: Any, gguf: Any, size: int) -> None:
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(size)
    writer.add_block_count(1)
    writer.add_feed_forward_length(size)
    writer.add_head_count(size // 32)
    writer.add_head_count_kv(size // 32)
    writer.add_rope_dimension_count(32)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    writer.add_vocab_size(size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_merges([f"{_letters(bytes(1))} {_letters(bytes(1))}"])  # there must be one; it is never used
    writer.add_bos_token_id(256)
    writer.add_eos_token_id(257)
    writer.add_eot_token_id(257)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)


def _letters(data: bytes) -> str:
    """Bytes as GPT-2's vocabulary writes them: printable ones as they are, the others as letters from U+0100 on."""
    shown = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return "".join(chr(byte) if byte in shown else chr(0x100 + hidden.index(byte)) for byte in data)
