"""What a turn sends while it is answered. Socket, page and commands all speak exactly these."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Literal

from assistant.receipts import ReceiptFacts
from knowledge.retrieval.passages import Retrieval


@dataclass(frozen=True)
class Source:
    """What the number [n] stands for. `url` opens the source viewer at the passage."""

    number: int
    version_id: int
    version_number: int
    chunk_id: str
    start: int
    end: int
    title: str
    heading: str
    snippet: str
    url: str


@dataclass(frozen=True)
class Sources:
    """Comes first. The retrieval and the receipt are for who keeps or prints them, and are not sent."""

    type: ClassVar[str] = "sources"
    sources: tuple[Source, ...]
    supported: bool
    retrieval: Retrieval
    receipt: ReceiptFacts

    def to_json(self) -> dict[str, Any]:
        return {
            "type": self.type,
            "sources": [asdict(source) for source in self.sources],
            "supported": self.supported,
        }


@dataclass(frozen=True)
class Delta:
    """The next piece of the answer, Markdown."""

    type: ClassVar[str] = "delta"
    text: str

    def to_json(self) -> dict[str, Any]:
        return {"type": self.type, "text": self.text}


@dataclass(frozen=True)
class Done:
    """Comes last: the answer is whole, or was stopped. `html` is what there is of it, sanitised.

    timings_ms (milliseconds) has `first_token` and `answer`; it is empty where nobody measured.
    """

    type: ClassVar[str] = "done"
    state: Literal["DONE", "STOPPED"]
    html: str
    supported: bool | None
    timings_ms: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        return {"type": self.type} | asdict(self)


@dataclass(frozen=True)
class Failed:
    """Comes last: there will be no more. `text` says why in the asker's language, `html` is what there is."""

    type: ClassVar[str] = "failed"
    code: str
    text: str
    html: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"type": self.type} | asdict(self)


Event = Sources | Delta | Done | Failed
LAST = frozenset({Done.type, Failed.type})
