"""The forward pass of a BERT encoder in NumPy, then pooling and scaling as in sentence-transformers."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

MASKED = -1e9
# erf to 1.5e-7, the precision of the model's floats: Abramowitz and Stegun, 7.1.26
ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)
ERF_P = 0.3275911


class Settings(NamedTuple):
    """longest: tokens of a text. first_token: its vector represents the text, else the mean of all."""

    layers: int
    heads: int
    epsilon: float
    longest: int
    first_token: bool
    normalize: bool


class Bert:
    """weights: the arrays by their usual names, without `bert.`. Raises KeyError when one is missing."""

    def __init__(self, weights: dict[str, Any], settings: Settings) -> None:
        import numpy

        self.np = numpy
        self.settings = settings
        self.weights = weights
        self.words = weights["embeddings.word_embeddings.weight"]
        self.places = weights["embeddings.position_embeddings.weight"]
        self.kind = weights["embeddings.token_type_embeddings.weight"][0]
        for layer in range(settings.layers):
            weights[f"encoder.layer.{layer}.output.dense.weight"]

    def encode(self, texts: list[list[int]]) -> list[list[float]]:
        """Returns the vectors of token lists. Lists are padded to the longest; similar lengths save work."""
        np = self.np
        lengths = np.array([len(text) for text in texts])
        longest = int(lengths.max())
        numbers = np.zeros((len(texts), longest), dtype=np.int64)
        for row, text in enumerate(texts):
            numbers[row, : len(text)] = text
        real = np.arange(longest) < lengths[:, None]
        x = self._norm(self.words[numbers] + self.places[:longest] + self.kind, "embeddings.LayerNorm")
        blocked = np.where(real, 0.0, MASKED).astype(np.float32)[:, None, None, :]
        for layer in range(self.settings.layers):
            x = self._layer(x, blocked, f"encoder.layer.{layer}")
        return self._pooled(x, real).tolist()  # type: ignore[no-any-return]

    def _layer(self, x: Any, blocked: Any, name: str) -> Any:
        attended = self._dense(self._attention(x, blocked, f"{name}.attention.self"), f"{name}.attention.output.dense")
        x = self._norm(x + attended, f"{name}.attention.output.LayerNorm")
        inner = self._gelu(self._dense(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attention(self, x: Any, blocked: Any, name: str) -> Any:
        np = self.np
        texts, length, width = x.shape
        shape = (texts, length, self.settings.heads, width // self.settings.heads)
        query, key, value = (
            self._dense(x, f"{name}.{part}").reshape(shape).transpose(0, 2, 1, 3) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 1, 3, 2) / np.float32(sqrt(shape[3])) + blocked
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        mixed = (scores / scores.sum(-1, keepdims=True)) @ value
        return mixed.transpose(0, 2, 1, 3).reshape(x.shape)

    def _dense(self, x: Any, name: str) -> Any:
        """Applies a dense layer as one large matrix product, which is faster than one for each text."""
        weight = self.weights[f"{name}.weight"]
        flat = x.reshape(-1, x.shape[-1]) @ weight.T + self.weights[f"{name}.bias"]
        return flat.reshape(*x.shape[:-1], len(weight))

    def _norm(self, x: Any, name: str) -> Any:
        x = x - x.mean(-1, keepdims=True)
        variance = (x * x).mean(-1, keepdims=True)
        return (
            x / self.np.sqrt(variance + self.settings.epsilon) * self.weights[f"{name}.weight"]
            + (self.weights[f"{name}.bias"])
        )

    def _gelu(self, x: Any) -> Any:
        np = self.np
        scaled = np.abs(x) * np.float32(1 / sqrt(2))
        t = 1 / (1 + np.float32(ERF_P) * scaled)
        polynomial = np.zeros_like(t)
        for factor in ERF:
            polynomial = (polynomial + np.float32(factor)) * t
        erf = np.copysign(1 - polynomial * np.exp(-scaled * scaled), x)
        return x * (np.float32(0.5) * (1 + erf))

    def _pooled(self, x: Any, real: Any) -> Any:
        np = self.np
        if self.settings.first_token:
            vectors = x[:, 0]
        else:
            weight = real[:, :, None].astype(x.dtype)
            vectors = (x * weight).sum(1) / weight.sum(1)
        vectors = vectors.astype(np.float64)
        if not self.settings.normalize:
            return vectors
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
