from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

from knowledge.errors import KnowledgeError
from knowledge.evaluation.scratch import scratch_index
from knowledge.evaluation.topics import CUTS, Coverage, load_questions, load_topics, measure_coverage
from knowledge.folders import files_of
from knowledge.management.arguments import (
    ProgressBar,
    add_json,
    add_tenant,
    as_command_error,
    print_json,
    tenant_named,
)
from knowledge.retrieval.passages import Passage
from knowledge.retrieval.search import Signal, retrieve, search_scopes


class Command(BaseCommand):
    help = "Measure how many of the topics that questions expect are in the first passages found."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("questions", type=Path, metavar="QUESTIONS.yaml")
        parser.add_argument(
            "--topics", type=Path, metavar="FILE", help="default: topic_synonyms.yaml beside the questions"
        )
        parser.add_argument(
            "--base", type=Path, metavar="DIR", help="a scratch index of this folder, instead of the live one"
        )
        parser.add_argument("--include", action="append", default=[], metavar="GLOB", help="with --base")
        parser.add_argument(
            "--signal", choices=[signal.value for signal in Signal], help="one signal alone, instead of both"
        )
        add_tenant(parser)
        add_json(parser)

    def handle(
        self, *args: Any, questions: Path, topics: Path | None, base: Path | None, **options: Any
    ) -> None:
        signal = Signal(options["signal"]) if options["signal"] else None
        try:
            loaded = load_questions(questions)
            known = load_topics(topics or questions.with_name("topic_synonyms.yaml"))
            bar = ProgressBar(len(loaded), "asked")

            def measure(search: Callable[[str], Sequence[Passage]]) -> Coverage:
                return measure_coverage(loaded, known, search=search, on_progress=bar.show)

            if base is None:
                tenant = tenant_named(options["tenant"])
                coverage = measure(
                    lambda text: retrieve(text, tenant=tenant, top_k=max(CUTS), signal=signal).passages
                )
            else:
                files = files_of(base, include=options["include"])
                with scratch_index(files, on_progress=ProgressBar(len(files), "indexed").show) as (
                    scope,
                    unread,
                ):
                    for source_key in unread:
                        self.stderr.write(f"{source_key} could not be read and is left out.")
                    coverage = measure(
                        lambda text: (
                            search_scopes(text, scopes=[scope], top_k=max(CUTS), signal=signal).passages
                        )
                    )
        except KnowledgeError as error:
            raise as_command_error(error) from None
        if options["json"]:
            print_json(self.stdout, _as_json(coverage))
            return
        self.stdout.write(f"{'':20}" + "".join(f"  top {cut}" for cut in CUTS))
        for name, shares in {
            **coverage.by_category,
            f"all {coverage.questions} questions": coverage.overall,
        }.items():
            self.stdout.write(f"{name:20}" + "".join(f"  {shares[cut]:5.3f}" for cut in CUTS))


def _as_json(coverage: Coverage) -> dict[str, Any]:
    return {
        "questions": coverage.questions,
        "coverage": {str(cut): share for cut, share in coverage.overall.items()},
        "by_category": {
            name: {str(cut): share for cut, share in shares.items()}
            for name, shares in coverage.by_category.items()
        },
    }
