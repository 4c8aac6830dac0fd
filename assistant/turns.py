"""The life of a turn in the database. Each change asks whether the turn is still being answered, so that
it ends once, however many processes try. Everything here blocks.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from django.utils.translation import override

from assistant.answering import source_url
from assistant.errors import FAILURES, Interrupted, NotFound
from assistant.events import Done, Failed, Sources
from assistant.models import Citation, Receipt, Turn
from assistant.rendering import answer_html
from assistant.stream import ALIVE_S
from knowledge.models import Document


def keep_sources(*, turn_id: int, event: Sources) -> bool:
    """Keep what the turn cites and its receipt; False if the turn has ended or is gone."""
    with transaction.atomic():
        turn = Turn.objects.select_for_update().filter(pk=turn_id, state=Turn.State.STREAMING).first()
        if turn is None:
            return False
        facts = event.receipt
        Turn.objects.filter(pk=turn_id).update(supported=event.supported, provider=facts.provider)
        Citation.objects.bulk_create(
            Citation(
                turn=turn,
                number=source.number,
                version_id=source.version_id,
                chunk_id=source.chunk_id,
                start=source.start,
                end=source.end,
                title=source.title,
                heading=source.heading,
                snippet=source.snippet,
            )
            for source in event.sources
        )
        Receipt.objects.create(turn=turn, **facts.to_json())
    return True


def keep_text(*, turn_id: int, text: str) -> bool:
    """Keep what there is of the answer; False if the turn has ended or is gone."""
    return bool(Turn.objects.filter(pk=turn_id, state=Turn.State.STREAMING).update(answer=text))


def end_turn(
    *,
    turn_id: int,
    state: Turn.State,
    text: str,
    error_code: str = "",
    timings_ms: dict[str, float] | None = None,
) -> bool:
    """End the turn; False if it had ended already or is gone. timings_ms join those of the receipt."""
    with transaction.atomic():
        ended = Turn.objects.filter(pk=turn_id, state=Turn.State.STREAMING).update(
            state=state, answer=text, error_code=error_code, finished_at=Now()
        )
        if ended and timings_ms:
            receipt = Receipt.objects.get(pk=turn_id)
            Receipt.objects.filter(pk=turn_id).update(timings_ms=receipt.timings_ms | timings_ms)
    return bool(ended)


def fail_abandoned(*, turn_id: int) -> bool:
    """Mark a turn as failed whose producer has gone; False if it had ended, is gone, or has only just begun.

    The caller has looked for the heartbeat; a turn younger than one may not have had its first.
    """
    return bool(
        Turn.objects.filter(
            pk=turn_id, state=Turn.State.STREAMING, created_at__lt=Now() - timedelta(seconds=ALIVE_S)
        ).update(state=Turn.State.FAILED, error_code=Interrupted.code, finished_at=Now())
    )


def last_event(*, turn_id: int) -> Done | Failed | None:
    """How a turn ended, from the database; None while it is being answered. Failed too where it is gone."""
    turn = Turn.objects.filter(pk=turn_id).first()
    if turn is None:
        return Failed(code=NotFound.code, text=str(NotFound()))
    if turn.state == Turn.State.STREAMING:
        return None
    with override(turn.language):
        html = answer_html(turn.answer, urls_of(citations_shown([turn.pk])[turn.pk]))
        if turn.state == Turn.State.FAILED:
            return Failed(code=turn.error_code, text=failure_text(turn.error_code), html=html)
    return Done(
        state="DONE" if turn.state == Turn.State.DONE else "STOPPED",
        html=html,
        supported=turn.supported,
        timings_ms={},
    )


def citations_shown(turn_ids: Iterable[int]) -> dict[int, list[Citation]]:
    """What each turn cites, by number, but for documents that have been withheld since. One query."""
    shown: dict[int, list[Citation]] = {turn_id: [] for turn_id in turn_ids}
    listed = Citation.objects.filter(turn_id__in=shown, version__document__state=Document.State.LISTED)
    for citation in listed.select_related("version").order_by("turn_id", "number"):
        shown[citation.turn_id].append(citation)
    return shown


def urls_of(citations: list[Citation]) -> dict[int, str]:
    """Numbers -> addresses of the passages."""
    return {c.number: source_url(version_id=c.version_id, chunk_id=c.chunk_id) for c in citations}


def failure_text(error_code: str) -> str:
    """The sentence for a failed turn, in the active language."""
    return str(FAILURES.get(error_code, Interrupted)())
