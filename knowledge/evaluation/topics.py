"""How many of the topics that a question's answer should have are in the first passages."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import yaml

from knowledge.errors import QuestionsUnusable
from knowledge.retrieval.passages import Passage

CUTS = (1, 3, 5)


class Question(NamedTuple):
    id: str
    category: str
    text: str
    expected_topics: tuple[str, ...]


class Topic(NamedTuple):
    """A topic is in a text if the pattern matches or one of the phrases occurs, whatever the case."""

    pattern: re.Pattern[str] | None
    phrases: tuple[str, ...]

    def is_in(self, text: str) -> bool:
        if self.pattern is not None and self.pattern.search(text):
            return True
        lowered = text.lower()
        return any(phrase in lowered for phrase in self.phrases)


class Coverage(NamedTuple):
    """Mean share of the expected topics in the first k passages, by k; over all and by category."""

    questions: int
    overall: dict[int, float]
    by_category: dict[str, dict[int, float]]


def load_questions(path: Path) -> list[Question]:
    """Raises QuestionsUnusable naming what is wrong."""
    questions = _load_mapping(path).get("questions")
    if not isinstance(questions, list) or not questions:
        raise QuestionsUnusable(path=path.name, reason="no questions")
    loaded = []
    for number, entry in enumerate(questions, start=1):
        try:
            loaded.append(
                Question(
                    id=str(entry["id"]),
                    category=str(entry.get("category", "")),
                    text=str(entry["question"]),
                    expected_topics=tuple(entry["expected_topics"]),
                )
            )
        except (KeyError, TypeError, AttributeError):
            raise QuestionsUnusable(
                path=path.name, reason=f"question {number} lacks id, question or expected_topics"
            ) from None
    return loaded


def load_topics(path: Path) -> dict[str, Topic]:
    """The topics by name; phrases are taken from every language given. Raises QuestionsUnusable."""
    topics = _load_mapping(path).get("topics")
    if not isinstance(topics, dict):
        raise QuestionsUnusable(path=path.name, reason="no topics")
    loaded = {}
    for name, entry in topics.items():
        if not isinstance(entry, dict):
            raise QuestionsUnusable(path=path.name, reason=f"topic {name} is not a mapping")
        phrases = [phrase for key, value in entry.items() if key != "pattern" for phrase in value or ()]
        try:
            pattern = re.compile(entry["pattern"], re.IGNORECASE) if entry.get("pattern") else None
        except re.error as error:
            raise QuestionsUnusable(path=path.name, reason=f"pattern of {name}: {error}") from None
        loaded[name] = Topic(pattern, tuple(str(phrase).lower() for phrase in phrases))
    return loaded


def measure_coverage(
    questions: Sequence[Question],
    topics: dict[str, Topic],
    *,
    search: Callable[[str], Sequence[Passage]],
    on_progress: Callable[[int], None] = lambda done: None,
) -> Coverage:
    """Search for every question and count its topics. Raises QuestionsUnusable for a topic not defined."""
    shares: dict[str, dict[int, list[float]]] = {}
    for done, question in enumerate(questions, start=1):
        missing = [name for name in question.expected_topics if name not in topics]
        if missing:
            raise QuestionsUnusable(path=question.id, reason=f"topics not defined: {', '.join(missing)}")
        texts = [searched_text(passage) for passage in search(question.text)]
        category = shares.setdefault(question.category, {cut: [] for cut in CUTS})
        for cut in CUTS:
            category[cut].append(_share(question, topics, texts[:cut]))
        on_progress(done)
    return Coverage(
        questions=len(questions),
        overall={cut: fmean(share for lists in shares.values() for share in lists[cut]) for cut in CUTS},
        by_category={
            category: {cut: fmean(lists[cut]) for cut in CUTS} for category, lists in sorted(shares.items())
        },
    )


def searched_text(passage: Passage) -> str:
    """Heading and text on one line, so that a phrase may run over a line's end."""
    return " ".join(f"{passage.heading} {passage.text}".split())


def _share(question: Question, topics: dict[str, Topic], texts: Sequence[str]) -> float:
    if not question.expected_topics:
        return 1.0
    found = sum(any(topics[name].is_in(text) for text in texts) for name in question.expected_topics)
    return found / len(question.expected_topics)


def _load_mapping(path: Path) -> dict[str, Any]:
    try:
        loaded = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise QuestionsUnusable(path=str(path), reason=error.strerror or "can't be read") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise QuestionsUnusable(path=path.name, reason=str(error).splitlines()[0]) from None
    if not isinstance(loaded, dict):
        raise QuestionsUnusable(path=path.name, reason="not a mapping")
    return loaded
