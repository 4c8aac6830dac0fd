"""A real provider that takes its time, so that tests can look at an answer that is being written."""

import asyncio
import os
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import ClassVar

from assistant.errors import ProviderError
from assistant.prompt import Prompt
from assistant.providers.rule_based import RuleBased

FAILING_QUESTION = "Bitte scheitern"


class Slow(RuleBased):
    """Writes what RuleBased writes, a piece each SLOW_PIECE_S seconds.

    Appends "begun PID", and "closed" or "finished", to the file SLOW_LOG. Gives up half-way on
    FAILING_QUESTION.
    """

    kind: ClassVar[str] = "slow"

    @property
    def model(self) -> str:
        return "slow-1"

    async def chat_stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        note(f"begun {os.getpid()}")
        ending = "closed"
        try:
            async for piece in super().chat_stream(prompt):
                yield piece
                if prompt.question == FAILING_QUESTION:
                    raise ProviderError
                await asyncio.sleep(float(os.environ["SLOW_PIECE_S"]))
            ending = "finished"
        finally:
            note(ending)


def note(word: str) -> None:
    with Path(os.environ["SLOW_LOG"]).open("a") as log:
        log.write(f"{word}\n")
