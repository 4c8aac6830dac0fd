"""The provider that needs no model: it quotes the best passages, word for word."""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import ClassVar

from django.utils.translation import gettext, override

from assistant.excerpts import choose_excerpt
from assistant.prompt import NumberedPassage, Prompt
from assistant.providers.base import Health, Provider

MOST_QUOTES = 4
FEWEST_QUOTES = 2
# A passage this far below the best one is quoted only to make up the fewest.
SHARE_OF_BEST = 0.6
FIRST_QUOTE_CHARS = 700
QUOTE_CHARS = 380
PIECE_CHARS = 40

_MARKDOWN = re.compile(r"([\\`*_\[\]<>#|])")


class RuleBased(Provider):
    """Quotes; writes no word of its own about the matter."""

    kind: ClassVar[str] = "rule_based"
    tools: ClassVar[bool] = False
    json_schema: ClassVar[bool] = False
    streaming: ClassVar[bool] = True

    @property
    def is_remote(self) -> bool:
        return False

    @property
    def model(self) -> str:
        return ""

    async def chat_stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        for piece in pieces_of(compose(prompt)):
            yield piece
            await asyncio.sleep(0)  # others on the loop have their turn between two pieces

    async def health_check(self) -> Health:
        return Health(healthy=True, latency_ms=0.0)

    async def list_models(self) -> list[str]:
        return []


def compose(prompt: Prompt) -> str:
    """The whole answer, Markdown; its own sentences are in the language of the interface."""
    with override(prompt.language):
        if not prompt.passages:
            return gettext("The knowledge base is still empty, so there is nothing to answer from yet.")
        if prompt.supported:
            return "\n\n".join(
                [
                    gettext("Here is what the knowledge base says:"),
                    *(_quote(prompt, p) for p in _best(prompt.passages)),
                ]
            )
        return "\n\n".join(
            [
                gettext("The knowledge base has nothing that answers this."),
                gettext("These passages are nearest, but they are about something else:"),
                "\n".join(f"- {_label(passage)}" for passage in prompt.passages[:MOST_QUOTES]),
            ]
        )


def pieces_of(text: str, *, chars: int = PIECE_CHARS) -> list[str]:
    """The text cut before words into pieces of about `chars` characters; joined they are the text."""
    pieces = [""]
    for word in re.findall(r"\S+\s*|\s+", text):
        if pieces[-1] and len(pieces[-1]) + len(word) > chars:
            pieces.append("")
        pieces[-1] += word
    return [piece for piece in pieces if piece]


def _best(passages: tuple[NumberedPassage, ...]) -> list[NumberedPassage]:
    floor = SHARE_OF_BEST * passages[0].score
    return [
        passage
        for rank, passage in enumerate(passages[:MOST_QUOTES], start=1)
        if rank <= FEWEST_QUOTES or passage.score >= floor
    ]


def _quote(prompt: Prompt, passage: NumberedPassage) -> str:
    chosen = choose_excerpt(
        question=prompt.question,
        text=passage.text,
        language=passage.language,
        max_chars=FIRST_QUOTE_CHARS if passage.number == 1 else QUOTE_CHARS,
    )
    quoted = "\n".join(f"> {line}".rstrip() for line in chosen.splitlines())
    return f"{_label(passage)}\n\n{quoted}" if quoted else _label(passage)


def _label(passage: NumberedPassage) -> str:
    """`**heading** · title [n]`, or the title alone where the passage has no heading of its own."""
    title, heading = (_MARKDOWN.sub(r"\\\1", name) for name in (passage.title, passage.heading))
    return f"**{heading}** · {title} [{passage.number}]" if heading else f"**{title}** [{passage.number}]"
