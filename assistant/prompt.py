"""What a provider is asked with. Making it is a pure function, so its hash says what was asked."""

import hashlib
import json
from dataclasses import dataclass

from knowledge.retrieval.passages import Passage, Retrieval


@dataclass(frozen=True)
class NumberedPassage:
    """A passage under the number by which the answer cites it."""

    number: int
    title: str
    heading: str
    text: str
    language: str
    score: float


@dataclass(frozen=True)
class Prompt:
    """The question, the passages to answer it from, and the language of the interface (`de` or `en`).

    Where `supported` is False the passages are merely what is nearest.
    """

    question: str
    language: str
    supported: bool
    passages: tuple[NumberedPassage, ...]

    @property
    def digest(self) -> str:
        """SHA-256 over all that the provider is given, as 64 hex digits."""
        told = {
            "question": self.question,
            "language": self.language,
            "supported": self.supported,
            "passages": [[p.number, p.title, p.heading, p.text] for p in self.passages],
        }
        return hashlib.sha256(json.dumps(told, ensure_ascii=False, sort_keys=True).encode()).hexdigest()


def own_heading(passage: Passage) -> str:
    """The passage's heading within its document, without the document's title; empty at the top."""
    path = passage.heading_path
    return " › ".join(path[1:] if path and path[0] == passage.title else path)


def build_prompt(*, question: str, language: str, retrieval: Retrieval) -> Prompt:
    """Number the passages in the order they were ranked, from 1."""
    return Prompt(
        question=question,
        language=language,
        supported=retrieval.supported,
        passages=tuple(
            NumberedPassage(
                number=number,
                title=passage.title,
                heading=own_heading(passage),
                text=passage.text,
                language=passage.language,
                score=passage.score,
            )
            for number, passage in enumerate(retrieval.passages, start=1)
        ),
    )
