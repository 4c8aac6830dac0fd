"""The contract every provider keeps."""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from typing import ClassVar, NamedTuple

from assistant.prompt import Prompt


class Health(NamedTuple):
    """`latency_ms` is that of the check; `detail` says what is wrong, empty if nothing is."""

    healthy: bool
    latency_ms: float
    detail: str = ""


class Provider(ABC):
    """Answers a prompt in Markdown, citing its passages as [n].

    All methods raise ProviderError where the provider cannot be reached or refuses. Cancelling the task
    that reads `chat_stream`, or closing the iterator, ends the provider's own call as well.
    """

    kind: ClassVar[str]
    tools: ClassVar[bool]
    json_schema: ClassVar[bool]
    streaming: ClassVar[bool]

    @property
    @abstractmethod
    def is_remote(self) -> bool:
        """Whether a prompt leaves the house. It follows from the address, not from the class."""

    @property
    @abstractmethod
    def model(self) -> str:
        """The model's name; empty where there is none."""

    @abstractmethod
    def chat_stream(self, prompt: Prompt) -> AsyncGenerator[str, None]:
        """Yield the answer in pieces, none of them empty."""

    async def chat(self, prompt: Prompt) -> str:
        """The answer, whole."""
        return "".join([piece async for piece in self.chat_stream(prompt)])

    @abstractmethod
    async def health_check(self) -> Health: ...

    @abstractmethod
    async def list_models(self) -> list[str]: ...
