"""What the database itself refuses, whatever the code above it does."""

import pytest
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.db.models.functions import Now

from assistant.models import Citation, Conversation, Receipt, Turn
from assistant.turns import end_turn, fail_abandoned, keep_text


@pytest.fixture
def turn(make_user) -> Turn:
    conversation = Conversation.objects.create(user=make_user("anna"), title="t")
    return Turn.objects.create(
        conversation=conversation, number=1, question="q", language="de", provider="rule_based"
    )


def refused(**fields: object) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        Turn.objects.filter(number=1).update(**fields)


def test_one_answer_at_a_time(turn):
    with pytest.raises(IntegrityError), transaction.atomic():
        Turn.objects.create(
            conversation=turn.conversation, number=2, question="q", language="de", provider="rule_based"
        )


def test_a_number_once_per_conversation(turn):
    end_turn(turn_id=turn.pk, state=Turn.State.STOPPED, text="")
    with pytest.raises(IntegrityError), transaction.atomic():
        Turn.objects.create(
            conversation=turn.conversation, number=1, question="q", language="de", provider="rule_based"
        )


def test_states_go_a_legal_way(turn):
    refused(state="ELSE", finished_at=Now())
    refused(state="DONE", supported=True)  # without a time
    refused(state="DONE", finished_at=Now())  # without knowing its support
    refused(state="FAILED", finished_at=Now())  # without a reason
    refused(question="another one")
    assert end_turn(turn_id=turn.pk, state=Turn.State.STOPPED, text="so far")
    refused(state="STREAMING", finished_at=None)
    refused(state="DONE", supported=True)


def test_a_turn_ends_once(turn):
    assert end_turn(turn_id=turn.pk, state=Turn.State.FAILED, text="a", error_code="interrupted")
    assert not end_turn(turn_id=turn.pk, state=Turn.State.STOPPED, text="b")
    assert not keep_text(turn_id=turn.pk, text="c")
    assert not fail_abandoned(turn_id=turn.pk)
    turn.refresh_from_db()
    assert (turn.state, turn.answer) == (Turn.State.FAILED, "a")


def test_a_turn_that_has_only_just_begun_is_not_abandoned(turn):
    assert not fail_abandoned(turn_id=turn.pk)
    with connection.cursor() as cursor:
        cursor.execute("UPDATE assistant_turn SET created_at = now() - interval '1 minute'")
    assert fail_abandoned(turn_id=turn.pk)


def test_a_receipt_and_a_citation_are_final(turn, upload, run_jobs):
    version = upload("a.md", "# Titel\n\nEin Satz.").version
    receipt = Receipt.objects.create(
        turn=turn,
        index_versions={"global": 1},
        passages=[],
        supported=True,
        support=1.0,
        provider="rule_based",
        prompt_hash="0" * 64,
    )
    for fields in ({"passages": [1]}, {"index_versions": {"global": 2}}, {"provider": "x"}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Receipt.objects.filter(pk=receipt.pk).update(**fields)
    assert Receipt.objects.filter(pk=receipt.pk).update(timings_ms={"answer": 1.0}) == 1
    citation = Citation.objects.create(
        turn=turn, number=1, version=version, chunk_id="c", start=0, end=3, title="t", snippet="s"
    )
    for other in ({"start": 1}, {"number": 2}, {"chunk_id": "d"}):
        with pytest.raises(DatabaseError), transaction.atomic():
            Citation.objects.filter(pk=citation.pk).update(**other)
    for wrong in ({"number": 0}, {"number": 1}, {"number": 2, "end": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            Citation.objects.create(
                **{"turn": turn, "version": version, "chunk_id": "c", "start": 0, "end": 3, "title": "t"}
                | wrong
            )
