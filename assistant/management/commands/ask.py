import asyncio
from argparse import ArgumentParser
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from accounts.models import Tenant
from assistant.answering import answer
from assistant.conversations import checked_question
from assistant.errors import AssistantError
from assistant.events import Delta, Done, Failed, Sources
from assistant.providers.registry import provider_of
from assistant.threads import in_thread
from knowledge.errors import KnowledgeError
from knowledge.management.arguments import add_json, add_tenant, as_command_error, print_json, tenant_named
from knowledge.management.commands.search import passage_as_json


class Command(BaseCommand):
    help = "Ask a question and print the answer with its sources; nothing of it is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("question", metavar="QUESTION")
        parser.add_argument(
            "--language",
            choices=[code for code, _ in settings.LANGUAGES],
            default=settings.LANGUAGE_CODE,
            help="language of the assistant's own sentences (default: %(default)s)",
        )
        add_tenant(parser)
        add_json(parser)

    def handle(self, *args: Any, question: str, language: str, **options: Any) -> None:
        tenant = tenant_named(options["tenant"])
        try:
            outcome = asyncio.run(_ask(checked_question(question), tenant=tenant, language=language))
        except KnowledgeError as error:
            raise as_command_error(error) from None
        except AssistantError as error:
            raise CommandError(str(error)) from None
        if options["json"]:
            print_json(self.stdout, outcome)
            return
        self.stdout.write(outcome["answer"] + "\n")
        for passage in outcome["passages"]:
            heading = f" · {passage['heading']}" if passage["heading"] else ""
            self.stdout.write(f"[{passage['number']}] {passage['title']}{heading} ({passage['document']})")


async def _ask(question: str, *, tenant: Tenant | None, language: str) -> dict[str, Any]:
    """The answer as {answer, supported, provider, passages, receipt}. Raises CommandError if it failed."""
    provider = provider_of(settings.AI_DEFAULT_PROVIDER)
    outcome: dict[str, Any] = {"answer": ""}
    events = answer(question=question, tenant=tenant, language=language, provider=provider)
    # One thread, so that the connection it opens can be closed at the end.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(max_workers=1))
    async with aclosing(events):
        async for event in events:
            match event:
                case Sources():
                    outcome |= {
                        "supported": event.supported,
                        "provider": event.receipt.provider,
                        "passages": [
                            {"number": number} | passage_as_json(passage)
                            for number, passage in enumerate(event.retrieval.passages, start=1)
                        ],
                        "receipt": event.receipt.to_json(),
                    }
                case Delta():
                    outcome["answer"] += event.text
                case Done():
                    outcome["receipt"]["timings_ms"] |= event.timings_ms
                case Failed():
                    raise CommandError(event.text)
    await in_thread(connections.close_all)()
    return outcome
