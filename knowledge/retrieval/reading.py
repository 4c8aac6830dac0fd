"""Reads the postings of a query's terms: from blocks, a row per term; from loose segments, out of memory."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from django.db import connection
from numpy.typing import NDArray

from knowledge.index.postings import FREQUENCY, INT
from knowledge.retrieval.view import ScopeView


class Postings(NamedTuple):
    """Where a term occurs in a row of chunks, and how often; equal lengths, dead chunks left out."""

    places: NDArray[np.int64]
    frequencies: NDArray[np.uint8]


def read_postings(view: ScopeView, terms: Sequence[str]) -> dict[str, Postings]:
    """The postings of those terms that occur in this version, by term; places count within the view."""
    collected: dict[str, list[tuple[NDArray[np.int64], NDArray[np.uint8]]]] = {}
    offsets = {part.block_id: part.offset for part in view.parts if part.block_id is not None}
    if offsets and terms:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT block_id, term, ordinals, frequencies FROM knowledge_posting"
                " WHERE block_id = ANY(%s) AND term = ANY(%s)",
                [list(offsets), list(terms)],
            )
            for block_id, term, ordinals, frequencies in cursor.fetchall():
                places = np.frombuffer(ordinals, dtype=INT).astype(np.int64) + offsets[block_id]
                collected.setdefault(term, []).append((places, np.frombuffer(frequencies, dtype=FREQUENCY)))
    for part in view.parts:
        if part.loose is None:
            continue
        inverted = part.loose.inverted
        for term in terms:
            place = part.loose.places.get(term)
            if place is not None:
                stretch = slice(inverted.starts[place], inverted.starts[place + 1])
                collected.setdefault(term, []).append(
                    (inverted.ordinals[stretch].astype(np.int64) + part.offset, inverted.frequencies[stretch])
                )
    result = {}
    for term, pieces in collected.items():
        places = np.concatenate([places for places, _ in pieces])
        frequencies = np.concatenate([frequencies for _, frequencies in pieces])
        live = view.live[places]
        if live.any():
            result[term] = Postings(places[live], frequencies[live])
    return result
