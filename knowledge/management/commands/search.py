from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand

from knowledge.errors import KnowledgeError
from knowledge.management.arguments import add_json, add_tenant, as_command_error, print_json, tenant_named
from knowledge.retrieval.passages import Passage, Retrieval
from knowledge.retrieval.search import retrieve


class Command(BaseCommand):
    help = "Search the live index (or an earlier one) and print the best passages with their scores."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("query", metavar="QUERY")
        parser.add_argument("--top-k", type=positive, default=5, metavar="N")
        parser.add_argument(
            "--as-of", type=int, metavar="N", help="search index version N instead of the live one"
        )
        parser.add_argument("--language", choices=["de", "en", "ru"])
        parser.add_argument("--source-type", action="append", metavar="TYPE")
        add_tenant(parser)
        add_json(parser)

    def handle(self, *args: Any, query: str, top_k: int, **options: Any) -> None:
        try:
            retrieval = retrieve(
                query,
                tenant=tenant_named(options["tenant"]),
                top_k=top_k,
                source_types=options["source_type"],
                language=options["language"],
                as_of=options["as_of"],
            )
        except KnowledgeError as error:
            raise as_command_error(error) from None
        if options["json"]:
            print_json(self.stdout, as_json(retrieval))
            return
        if not retrieval.supported:
            self.stdout.write("No support in the base; this is what is nearest:")
        for passage in retrieval.passages:
            vector = "-" if passage.vector is None else f"{passage.vector:.3f}"
            self.stdout.write(
                f"{passage.rank}. {passage.score:.3f}  (keyword {passage.keyword:.2f}, vector {vector})"
                f"  {passage.title} · {passage.heading}\n   {' '.join(passage.text.split())[:200]}"
            )


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text} is no number of passages; give 1 or more")
    return int(text)


def as_json(retrieval: Retrieval) -> dict[str, Any]:
    # The scope asked for is the last one: the tenant's, or the global one without a tenant.
    versions = retrieval.index_versions
    return {
        "index_version": list(versions.values())[-1] if versions else None,
        "index_versions": versions,
        "supported": retrieval.supported,
        "support": retrieval.support,
        "timings_ms": retrieval.timings_ms,
        "passages": [passage_as_json(passage) for passage in retrieval.passages],
    }


def passage_as_json(passage: Passage) -> dict[str, Any]:
    return {
        "rank": passage.rank,
        "chunk_id": passage.chunk_id,
        "document": passage.source_key,
        "version": passage.version_number,
        "title": passage.title,
        "heading": passage.heading,
        "text": passage.text,
        "score": passage.score,
        "keyword": passage.keyword,
        "vector": passage.vector,
        "rerank": passage.rerank,
    }
