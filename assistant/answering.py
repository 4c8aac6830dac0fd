"""Question -> answer: the one orchestration, whoever asks and however the answer travels."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse
from django.utils.translation import override

from accounts.models import Tenant
from assistant.errors import ProviderError
from assistant.events import Delta, Done, Event, Failed, Source, Sources
from assistant.prompt import build_prompt, own_heading
from assistant.providers.base import Provider
from assistant.receipts import receipt_of
from assistant.rendering import answer_html
from assistant.threads import in_thread
from knowledge.retrieval.passages import Passage, Retrieval
from knowledge.retrieval.search import retrieve

SNIPPET_CHARS = 240


async def answer(
    *, question: str, tenant: Tenant | None, language: str, provider: Provider
) -> AsyncGenerator[Event, None]:
    """Yield Sources, then Delta after Delta, then Done, or Failed where the provider gives up.

    `language` is that of the interface. Closing the iterator ends the provider's call.
    """
    started = time.perf_counter()
    retrieval = await in_thread(retrieve)(question, tenant=tenant, top_k=settings.AI_RAG_TOP_K)
    prompt = build_prompt(question=question, language=language, retrieval=retrieval)
    sources = sources_of(retrieval)
    yield Sources(
        sources=sources,
        supported=retrieval.supported,
        retrieval=retrieval,
        receipt=receipt_of(
            retrieval=retrieval, provider=provider.kind, model=provider.model, prompt_hash=prompt.digest
        ),
    )
    urls = {source.number: source.url for source in sources}
    text = ""
    first_token_ms = 0.0
    try:
        async with aclosing(provider.chat_stream(prompt)) as pieces:
            async for piece in pieces:
                first_token_ms = first_token_ms or _ms_since(started)
                text += piece
                yield Delta(piece)
    except ProviderError as error:
        with override(language):
            yield Failed(code=error.code, text=str(error), html=answer_html(text, urls))
        return
    with override(language):
        html = answer_html(text, urls)
    yield Done(
        state="DONE",
        html=html,
        supported=retrieval.supported,
        timings_ms={"first_token": first_token_ms, "answer": _ms_since(started)},
    )


def sources_of(retrieval: Retrieval) -> tuple[Source, ...]:
    """The passages under the numbers the answer cites them by: their order, from 1."""
    return tuple(_source(number, passage) for number, passage in enumerate(retrieval.passages, start=1))


def source_url(*, version_id: int, chunk_id: str) -> str:
    """Where the source viewer shows the passage."""
    return f"{reverse('source', args=[version_id])}?{urlencode({'chunk': chunk_id})}#passage"


def _source(number: int, passage: Passage) -> Source:
    return Source(
        number=number,
        version_id=passage.version_id,
        version_number=passage.version_number,
        chunk_id=passage.chunk_id,
        start=passage.start,
        end=passage.end,
        title=passage.title,
        heading=own_heading(passage),
        snippet=_snippet(passage.text),
        url=source_url(version_id=passage.version_id, chunk_id=passage.chunk_id),
    )


def _snippet(text: str) -> str:
    lines = [line for line in text.split("\n") if not line.startswith("#")]
    plain = " ".join(" ".join(line.lstrip(">|-* ") for line in lines).replace("**", "").split()) or text
    if len(plain) <= SNIPPET_CHARS:
        return plain
    return plain[:SNIPPET_CHARS].rsplit(" ", 1)[0] + " …"


def _ms_since(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
