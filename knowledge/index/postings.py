"""Where terms occur: how postings are made, stored and merged.

A segment keeps its own postings as one blob. Blocks hold those of many segments, a row per term, so that a
query reads a row per term however large the base. Ordinals count chunks within the segment or block.
"""

import json
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

INT: np.dtype[np.int32] = np.dtype("<i4")
FREQUENCY: np.dtype[np.uint8] = np.dtype("u1")
_HIGHEST_FREQUENCY = 255


@dataclass(frozen=True)
class InvertedSegment:
    """The postings of one segment.

    `lengths` has one number of terms per chunk, shape (chunks,). The postings of `terms[i]` are
    ordinals[starts[i]:starts[i + 1]], ascending, and frequencies likewise.
    """

    terms: tuple[str, ...]
    starts: NDArray[np.int32]
    ordinals: NDArray[np.int32]
    frequencies: NDArray[np.uint8]
    lengths: NDArray[np.int32]

    def encode(self) -> bytes:
        header = json.dumps([len(self.terms), len(self.ordinals), len(self.lengths)]).encode()
        terms = "\n".join(self.terms).encode()
        body = b"".join(
            (
                len(header).to_bytes(4, "little"),
                header,
                len(terms).to_bytes(4, "little"),
                terms,
                self.starts.astype(INT).tobytes(),
                self.ordinals.astype(INT).tobytes(),
                self.frequencies.tobytes(),
                self.lengths.astype(INT).tobytes(),
            )
        )
        return zlib.compress(body, level=1)

    @classmethod
    def decode(cls, blob: bytes) -> "InvertedSegment":
        body = memoryview(zlib.decompress(blob))
        at = 4 + int.from_bytes(body[:4], "little")
        term_count, posting_count, chunk_count = json.loads(bytes(body[4:at]))
        size = int.from_bytes(body[at : at + 4], "little")
        at += 4
        terms = bytes(body[at : at + size]).decode()
        at += size
        starts = np.frombuffer(body, dtype=INT, count=term_count + 1, offset=at)
        at += starts.nbytes
        ordinals = np.frombuffer(body, dtype=INT, count=posting_count, offset=at)
        at += ordinals.nbytes
        frequencies = np.frombuffer(body, dtype=FREQUENCY, count=posting_count, offset=at)
        at += frequencies.nbytes
        lengths = np.frombuffer(body, dtype=INT, count=chunk_count, offset=at)
        return cls(
            terms=tuple(terms.split("\n")) if term_count else (),
            starts=starts,
            ordinals=ordinals,
            frequencies=frequencies,
            lengths=lengths,
        )

    def postings(self) -> Iterator[tuple[str, NDArray[np.int32], NDArray[np.uint8]]]:
        for index, term in enumerate(self.terms):
            stretch = slice(self.starts[index], self.starts[index + 1])
            yield term, self.ordinals[stretch], self.frequencies[stretch]


def invert(counted: Sequence[Counter[str]]) -> InvertedSegment:
    """The postings of a segment from the terms of its chunks, one Counter per chunk."""
    by_term: dict[str, list[tuple[int, int]]] = {}
    for ordinal, frequencies in enumerate(counted):
        for term, frequency in frequencies.items():
            by_term.setdefault(term, []).append((ordinal, min(frequency, _HIGHEST_FREQUENCY)))
    terms = sorted(by_term)
    entries = [by_term[term] for term in terms]
    return InvertedSegment(
        terms=tuple(terms),
        starts=np.cumsum([0, *map(len, entries)], dtype=INT),
        ordinals=np.array([ordinal for entry in entries for ordinal, _ in entry], dtype=INT),
        frequencies=np.array([frequency for entry in entries for _, frequency in entry], dtype=FREQUENCY),
        lengths=np.array([frequencies.total() for frequencies in counted], dtype=INT),
    )
