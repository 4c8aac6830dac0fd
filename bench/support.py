"""Whether a base has an answer: the coefficients fitted again, and how the threshold does on other questions.

Fitted on sample/answerable.yaml and sample/unanswerable.yaml over the sample base; measured on
sample/questions.yaml, on the questions below, and, where a second base is given, on its questions.

    python -m bench.support [--base DIR --questions FILE [--include GLOB]]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import django
import numpy as np
import yaml
from numpy.typing import NDArray

django.setup()

from django.conf import settings  # noqa: E402

from knowledge.analysis import detect_language  # noqa: E402
from knowledge.evaluation.scratch import scratch_index  # noqa: E402
from knowledge.folders import files_of  # noqa: E402
from knowledge.models import Scope  # noqa: E402
from knowledge.retrieval.search import search_scopes  # noqa: E402

FAR = (
    "how tall is the eiffel tower",
    "who won the football world cup in 2014",
    "best pizza in naples",
    "how do I change a bicycle tyre",
    "python list comprehension with two loops",
    "what is the interest rate of my mortgage",
    "train from Paris to Lyon",
    "как приготовить борщ",
    "столица Австралии",
    "кто написал «Войну и мир»",
    "Wie hoch ist der Mount Everest?",
    "Wann beginnt die Bundesliga?",
    "Welche Steuerklasse habe ich nach der Hochzeit?",
    "Wie entkalke ich meine Kaffeemaschine?",
    "Wer hat die Relativitätstheorie aufgestellt?",
    "Rezept für Zwiebelkuchen",
    "Wie stelle ich die Ventile am Motorrad ein?",
    "Was kostet ein Flug nach Lissabon?",
    "Как настроить гитару?",
    "How many moons does Jupiter have?",
)


def entries_of(path: Path) -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = yaml.safe_load(path.read_text())["questions"]
    return entries


def questions_of(path: Path) -> list[str]:
    return [entry["question"] for entry in entries_of(path)]


def signs(scope: Scope, question: str) -> tuple[float, float, bool]:
    """Cosine of the nearest passage, the best coverage, and whether both are in one language."""
    found = search_scopes(question, scopes=[scope], top_k=5)
    nearest = max(found.passages, key=lambda passage: passage.vector or 0)
    return nearest.vector or 0.0, found.coverage, nearest.language == detect_language(question)


def fit(rows: NDArray[np.float64], answers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logistic regression by Newton's method, with a slight ridge."""
    coefficients = np.zeros(rows.shape[1])
    for _ in range(100):
        chance = 1 / (1 + np.exp(-rows @ coefficients))
        slope = rows.T @ (answers - chance) - 0.01 * coefficients
        curve = (rows.T * (chance * (1 - chance))) @ rows + 0.01 * np.eye(rows.shape[1])
        coefficients += np.linalg.solve(curve, slope)
    return coefficients


def report(label: str, scope: Scope, questions: Sequence[str]) -> None:
    supported = [search_scopes(question, scopes=[scope], top_k=5).supported for question in questions]
    print(f"{label:52} {len(supported):9} {sum(supported):9} {sum(supported) / len(supported):7.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--base", type=Path)
    parser.add_argument("--questions", type=Path)
    parser.add_argument("--include", action="append", default=[])
    options = parser.parse_args()
    sample: Path = settings.KNOWLEDGE_SAMPLE.parent
    unanswerable = entries_of(sample / "unanswerable.yaml")
    print(f"{'':52} {'questions':>9} {'supported':>9} {'share':>7}")
    with scratch_index(files_of(settings.KNOWLEDGE_SAMPLE)) as (scope, _):
        yes = [signs(scope, question) for question in questions_of(sample / "answerable.yaml")]
        no = [signs(scope, entry["question"]) for entry in unanswerable]
        report("fitted on: answerable", scope, questions_of(sample / "answerable.yaml"))
        for kind in ("far", "near"):
            report(
                f"fitted on: unanswerable, {kind}",
                scope,
                [entry["question"] for entry in unanswerable if entry["kind"] == kind],
            )
        report("sample/questions.yaml (answerable)", scope, questions_of(sample / "questions.yaml"))
        report("20 others, far (unanswerable)", scope, FAR)
    if options.base:
        with scratch_index(files_of(options.base, include=options.include)) as (scope, _):
            report(f"{options.questions.name} (answerable)", scope, questions_of(options.questions))
            report("20 others, far (unanswerable)", scope, FAR)
    same = np.array([[c, v, 1.0] for c, v, alike in yes + no if alike])
    answers = np.array([float(place < len(yes)) for place, row in enumerate(yes + no) if row[2]])
    print("fitted anew, same language (cosine, coverage, intercept):", fit(same, answers).round(2))


if __name__ == "__main__":
    main()
