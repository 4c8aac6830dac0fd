"""The chat over the socket: real server, real Valkey, real database."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from accounts.models import Membership
from assistant.models import Citation, Conversation, Receipt, Turn
from tests.assistant.conftest import slow_server
from tests.assistant.slow_provider import FAILING_QUESTION
from tests.assistant.talking import log_in, post, talk, text_of
from tests.conftest import wait_until

QUESTION = "Woran erkenne ich Spinnmilben?"
pytestmark = pytest.mark.usefixtures("base")


def test_an_answer_comes_as_events_and_is_kept(site, make_user):
    make_user("anna")
    client = log_in(site, "anna")
    with talk(site, client) as socket:
        turn_id = socket.ask(QUESTION)
        messages = socket.until("done")
    assert [message["type"] for message in messages[:2]] == ["sources", "delta"]
    assert all(message["turn"] == turn_id for message in messages)
    assert len({message["id"] for message in messages}) == len(messages)
    sources, done = messages[0], messages[-1]
    turn = Turn.objects.get(pk=turn_id)
    assert turn.state == Turn.State.DONE
    assert turn.supported is True
    assert turn.answer == text_of(messages)
    assert "> Spinnmilben erkennt man an feinen Gespinsten" in turn.answer
    receipt = Receipt.objects.get(turn=turn)
    assert receipt.provider == turn.provider == "rule_based"
    assert receipt.index_versions == {"global": 3}
    assert receipt.timings_ms["answer"] >= receipt.timings_ms["first_token"] > 0
    # A number means the same passage in the stream, in the database, in the receipt and on the page.
    kept = {citation.number: citation for citation in Citation.objects.filter(turn=turn)}
    page = client.get(f"/conversations/{turn.conversation_id}/").text
    for source, passage in zip(sources["sources"], receipt.passages, strict=True):
        citation = kept[source["number"]]
        assert (citation.version_id, citation.chunk_id) == (source["version_id"], source["chunk_id"])
        assert (citation.start, citation.end) == (source["start"], source["end"])
        assert (passage["number"], passage["chunk_id"]) == (source["number"], source["chunk_id"])
        assert source["url"] in page
    assert f'href="{sources["sources"][0]["url"]}"' in done["html"]
    assert done["html"] in page


def test_two_readers_see_the_same_and_one_resumes(slow_site, make_user):
    make_user("anna")
    client = log_in(slow_site, "anna")
    with talk(slow_site, client) as first, talk(slow_site, client) as second:
        turn_id = first.ask(QUESTION)
        begun = [first.next() for _ in range(4)]
        second.send(type="follow", turn=turn_id)
        with talk(slow_site, client) as third:
            third.send(type="follow", turn=turn_id, after=begun[2]["id"])
            resumed = third.until("done")
        whole = begun + first.until("done")
        assert second.until("done") == whole
        assert resumed == whole[3:]


def test_a_second_process_serves_the_same_stream(slow_site, tmp_path, make_user):
    make_user("anna")
    client = log_in(slow_site, "anna")
    with slow_server(tmp_path) as other, talk(slow_site, client) as first, talk(other, client) as second:
        turn_id = first.ask(QUESTION)
        second.send(type="follow", turn=turn_id)
        assert second.until("done") == first.until("done")


def test_what_is_over_can_still_be_followed(site, make_user):
    make_user("anna")
    client = log_in(site, "anna")
    with talk(site, client) as socket:
        turn_id = socket.ask(QUESTION)
        whole = socket.until("done")
        socket.send(type="follow", turn=turn_id, after=whole[-1]["id"])
        again = socket.next()
    assert again["type"] == "done"
    assert again["html"] == whole[-1]["html"]


def test_the_text_so_far_is_in_the_database_while_it_is_written(slow_site, make_user):
    make_user("anna")
    with talk(slow_site, log_in(slow_site, "anna")) as socket:
        turn_id = socket.ask(QUESTION)
        wait_until(lambda: Turn.objects.get(pk=turn_id).answer, what="a first part of the answer kept")
        turn = Turn.objects.get(pk=turn_id)
        assert turn.state == Turn.State.STREAMING
        assert text_of(socket.until("done")).startswith(turn.answer)


def test_closing_the_page_does_not_end_the_answer(slow_site, make_user):
    make_user("anna")
    client = log_in(slow_site, "anna")
    with talk(slow_site, client) as socket:
        turn_id = socket.ask(QUESTION)
        socket.until("delta")
    wait_until(lambda: Turn.objects.get(pk=turn_id).state == Turn.State.DONE, what="the answer finished")


def test_stop_ends_the_providers_call(tmp_path, slow_log, make_user, files_folder):
    make_user("anna")
    with slow_server(tmp_path, piece_s=1) as site:
        client = log_in(site, "anna")
        with talk(site, client) as socket, slow_server(tmp_path, piece_s=1) as other:
            turn_id = socket.ask(QUESTION)
            seen = socket.until("delta")
            with talk(other, client) as from_elsewhere:
                from_elsewhere.send(type="stop", turn=turn_id)
            seen += socket.until("done")
    assert seen[-1]["state"] == "STOPPED"
    assert slow_log.read_text().split()[-1] == "closed"
    turn = Turn.objects.get(pk=turn_id)
    assert turn.state == Turn.State.STOPPED
    assert turn.answer == text_of(seen)
    assert 0 < len(turn.answer) < 100


def test_a_killed_server_fails_the_turn_once_and_the_page_says_so(
    tmp_path, slow_log, make_user, files_folder
):
    make_user("anna")
    with slow_server(tmp_path, piece_s=1) as site, slow_server(tmp_path) as other:
        client = log_in(site, "anna")
        with talk(site, client) as socket:
            turn_id = socket.ask(QUESTION)
            begun = socket.until("delta")
            wait_until(lambda: Turn.objects.get(pk=turn_id).answer, what="a first part of the answer kept")
            os.kill(int(slow_log.read_text().split()[1]), signal.SIGKILL)
        client.base_url = other
        with talk(other, client) as one, talk(other, client) as two:
            for reader in (one, two):
                reader.send(type="follow", turn=turn_id, after=begun[-1]["id"])
            endings = [one.until("failed")[-1], two.until("failed")[-1]]
        turn = Turn.objects.get(pk=turn_id)
        assert (turn.state, turn.error_code) == (Turn.State.FAILED, "interrupted")
        finished_at = turn.finished_at
        assert all(
            ending["text"] == "Die Antwort wurde unterbrochen. Bitte frag noch einmal." for ending in endings
        )
        page = client.get(f"/conversations/{turn.conversation_id}/").text
        assert "Die Antwort wurde unterbrochen." in page
        assert "Noch einmal fragen" in page
        assert Turn.objects.get(pk=turn_id).finished_at == finished_at
        # The conversation goes on.
        with talk(other, client) as socket:
            socket.ask(QUESTION, conversation=turn.conversation_id)
            assert socket.until("done")[-1]["state"] == "DONE"


def test_a_server_that_is_asked_to_go_says_so_at_once(tmp_path, slow_log, make_user, files_folder):
    make_user("anna")
    with slow_server(tmp_path, piece_s=1) as site, talk(site, log_in(site, "anna")) as socket:
        turn_id = socket.ask(QUESTION)
        socket.until("delta")
        os.kill(int(slow_log.read_text().split()[1]), signal.SIGTERM)
        wait_until(lambda: Turn.objects.get(pk=turn_id).state == Turn.State.FAILED, what="the turn failed")
    assert Turn.objects.get(pk=turn_id).answer


def test_a_provider_that_gives_up(slow_site, make_user):
    make_user("anna")
    with talk(slow_site, log_in(slow_site, "anna")) as socket:
        turn_id = socket.ask(FAILING_QUESTION)
        failed = socket.until("failed")[-1]
    assert failed["text"] == "Das Sprachmodell konnte nicht antworten. Bitte frag noch einmal."
    assert Turn.objects.get(pk=turn_id).error_code == "provider_failed"


def test_what_cannot_be_asked_is_answered_with_a_sentence(slow_site, make_user):
    make_user("anna")
    with talk(slow_site, log_in(slow_site, "anna")) as socket:
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"type": "ask", "question": "  \x00 "}, "empty_question"),
            ({"type": "ask", "question": "a" * 4001}, "question_too_long"),
            ({"type": "ask"}, "unknown_message"),
            ({"type": "follow", "turn": "1"}, "unknown_message"),
            ({"type": "follow", "turn": 1, "after": "now"}, "unknown_message"),
            ({"type": "dance"}, "unknown_message"),
        ]
        for message, code in wrong:
            socket.send(**message)
            answer = socket.next()
            assert (answer["type"], answer["code"]) == ("error", code)
            assert answer["text"]
        socket.socket.send("no JSON")
        assert socket.next()["code"] == "unknown_message"
        socket.socket.send("[" * 100_000)
        assert socket.next()["code"] == "unknown_message"
        socket.socket.send(b"\x00\x01")
        assert socket.next()["code"] == "unknown_message"
        assert not Conversation.objects.exists()

        turn_id = socket.ask(QUESTION)
        conversation = Turn.objects.get(pk=turn_id).conversation_id
        socket.until("delta")
        socket.send(type="ask", question="Und noch eine?", conversation=conversation)
        assert socket.until("error")[-1]["code"] == "already_answering"
        assert Turn.objects.count() == 1


@pytest.mark.parametrize("kind", ["ask", "follow", "stop"])
def test_what_is_somebody_elses_is_not_there(slow_site, make_user, kind):
    make_user("anna")
    make_user("ben")
    with talk(slow_site, log_in(slow_site, "anna")) as hers:
        turn_id = hers.ask(QUESTION)
        conversation = Turn.objects.get(pk=turn_id).conversation_id
        messages: dict[str, dict[str, Any]] = {
            "ask": {"question": QUESTION, "conversation": conversation},
            "follow": {"turn": turn_id},
            "stop": {"turn": turn_id},
        }
        with talk(slow_site, log_in(slow_site, "ben")) as his:
            his.send(type=kind, **messages[kind])
            with pytest.raises(ConnectionClosed) as closed:
                his.next()
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code == 4404
        assert hers.until("done")[-1]["state"] == "DONE"
    assert Turn.objects.count() == 1


def test_strangers_and_foreign_pages_get_no_socket(site, make_user):
    make_user("anna")
    client = log_in(site, "anna")
    with talk(site, None) as socket:
        with pytest.raises(ConnectionClosed) as closed:
            socket.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
    for origin in ("https://example.org", "http://127.0.0.1:1", "null"):
        with pytest.raises(InvalidStatus), talk(site, client, origin=origin):
            pass


@pytest.mark.parametrize("end", ["logged out", "closed account"])
def test_an_open_page_cannot_ask_on_once_its_session_has_ended(site, make_user, end):
    user = make_user("anna")
    client = log_in(site, "anna")
    with talk(site, client) as socket:
        socket.ask(QUESTION)
        socket.until("done")
        if end == "logged out":
            post(client, "/logout/")
        else:
            user.is_active = False
            user.save()
        socket.send(type="ask", question=QUESTION)
        with pytest.raises(ConnectionClosed) as closed:
            socket.next()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4401
    assert Turn.objects.count() == 1


def test_a_former_member_cannot_ask_on(site, make_user, tenant):
    user = make_user("anna", tenant)
    client = log_in(site, "anna")
    with talk(site, client) as socket:
        turn_id = socket.ask(QUESTION)
        socket.until("done")
        conversation = Conversation.objects.get(turns=turn_id)
        assert conversation.tenant == tenant
        Membership.objects.filter(user=user).delete()
        socket.send(type="ask", question=QUESTION, conversation=conversation.pk)
        assert socket.next()["code"] == "not_member"


def test_deleting_ends_a_running_answer_and_leaves_nothing(tmp_path, slow_log, make_user, files_folder):
    make_user("anna")
    with slow_server(tmp_path, piece_s=1) as site:
        client = log_in(site, "anna")
        with talk(site, client) as socket:
            turn_id = socket.ask(QUESTION)
            socket.until("delta")
            conversation = Turn.objects.get(pk=turn_id).conversation_id
            answer = post(client, f"/conversations/{conversation}/delete/")
            assert answer.url.path == "/conversations/"
        wait_until(lambda: "closed" in slow_log.read_text(), what="the provider's call ended")
        time.sleep(0.2)
    assert not Conversation.objects.exists()
    assert not Receipt.objects.exists()
    assert not Citation.objects.exists()


def test_logs_have_neither_question_nor_answer(tmp_path, make_user, files_folder):
    make_user("anna")
    with slow_server(tmp_path, piece_s=0) as site, talk(site, log_in(site, "anna")) as socket:
        socket.ask(f"{QUESTION} Geheimwort")
        answer = text_of(socket.until("done"))
    logged = "".join(log.read_text() for log in Path(tmp_path).glob("web-*.log"))
    assert "turn_ended" in logged
    assert "Geheimwort" not in logged
    assert answer.splitlines()[-1][2:30] not in logged
