"""The pages: who sees what, in which language, and what works without JavaScript."""

import re

import pytest
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from accounts.models import Membership, Tenant
from assistant.models import Citation, Conversation, Turn
from assistant.turns import end_turn
from knowledge.models import Document
from knowledge.scopes import scope_of
from tests.assistant.talking import log_in, post
from tests.conftest import PASSWORD, wait_until

QUESTION = "Woran erkenne ich Spinnmilben?"


@pytest.fixture
def answered(base, make_user) -> Turn:
    """Anna's conversation, with an answer that cites the first document."""
    conversation = Conversation.objects.create(user=make_user("anna"), title="Spinnmilben?")
    turn = Turn.objects.create(
        conversation=conversation, number=1, question=QUESTION, language="de", provider="rule_based"
    )
    version = base[1].versions.get()
    text = version.extracted.text
    start = text.index("Spinnmilben erkennt")
    Citation.objects.create(
        turn=turn,
        number=1,
        version=version,
        chunk_id="gone",
        start=start,
        end=start + 20,
        title="M",
        snippet="s",
    )
    Turn.objects.filter(pk=turn.pk).update(supported=True)
    end_turn(turn_id=turn.pk, state=Turn.State.DONE, text="Siehe **hier** [1].")
    return turn


def pages_of(turn: Turn) -> list[str]:
    return [
        reverse("conversation", args=[turn.conversation_id]),
        reverse("conversation-delete", args=[turn.conversation_id]),
        reverse("turn", args=[turn.pk]),
        reverse("turn-stop", args=[turn.pk]),
        reverse("receipt", args=[turn.pk]),
    ]


def test_a_conversation_is_kept_listed_and_reopened(answered, client):
    client.force_login(answered.conversation.user)
    listed = client.get(reverse("conversations"))
    assert answered.conversation.get_absolute_url() in listed.text
    page = client.get(answered.conversation.get_absolute_url()).text
    assert "<strong>hier</strong>" in page
    assert re.search(r'<a class="cite" href="/sources/\d+/\?chunk=gone#passage"', page)


def test_what_is_somebody_elses_is_not_there(answered, make_user, client):
    client.force_login(make_user("ben"))
    for address in pages_of(answered):
        assert client.get(address).status_code in {404, 405}, address
        assert client.post(address).status_code in {404, 405}, address
    asked = client.post(reverse("ask"), {"question": "q", "conversation": answered.conversation_id})
    assert asked.status_code == 404
    assert answered.conversation.title not in client.get(reverse("conversations")).text
    assert Conversation.objects.filter(pk=answered.conversation_id).exists()


def test_strangers_are_sent_to_the_login(answered, client):
    for address in [*pages_of(answered), reverse("home"), reverse("conversations"), reverse("settings")]:
        assert client.get(address).headers["Location"].startswith("/login/"), address
    assert client.post(reverse("ask"), {"question": "q"}).headers["Location"] == "/login/"


def test_every_address_with_an_id_is_covered_above(answered):
    """A new page of a conversation or turn must be added to `pages_of`."""
    named = {
        pattern.name
        for pattern in get_resolver("assistant.urls").url_patterns
        if isinstance(pattern, URLPattern) and re.search("conversation_id|turn_id", str(pattern.pattern))
    }
    assert named == {"conversation", "conversation-delete", "turn", "turn-stop", "receipt"}
    assert len(pages_of(answered)) == len(named)


def test_deleting_asks_first(answered, client):
    client.force_login(answered.conversation.user)
    address = reverse("conversation-delete", args=[answered.conversation_id])
    assert answered.conversation.title in client.get(address).text
    assert Conversation.objects.exists()
    assert client.post(address).status_code == 302
    assert not Conversation.objects.exists()
    assert not Citation.objects.exists()


def test_a_source_shows_the_passage_and_which_version_it_is(answered, upload, run_jobs, client):
    client.force_login(answered.conversation.user)
    citation = answered.citations.get()
    address = f"/sources/{citation.version_id}/?chunk=gone"
    page = client.get(address).text
    assert '<mark id="passage">Spinnmilben erkennt</mark>' in page.replace("\n", "")
    assert f"/conversations/{answered.conversation_id}/#turn-{answered.pk}" in page
    assert "Aus dieser Version wird zurzeit nicht geantwortet." not in page
    newer = upload("spinnmilben.md", "# Spinnmilben\n\nGanz neu.").version
    run_jobs()
    page = client.get(address).text
    assert "Aus dieser Version wird zurzeit nicht geantwortet." in page
    assert f'href="/sources/{newer.pk}/"' in page
    assert "diese Passage" not in client.get(f"/sources/{newer.pk}/").text
    assert client.get(f"/sources/{newer.pk}/?chunk=%00").status_code == 200
    lost = client.get(f"/sources/{newer.pk}/?chunk=nowhere").text
    assert "Die zitierte Passage ist nicht mehr bekannt" in lost


def test_sources_of_a_tenant_are_for_its_members(make_user, upload, run_jobs, tenant, client):
    version = upload("eigen.md", "# Eigen\n\nNur für uns.", scope=scope_of(tenant)).version
    run_jobs()
    other = Tenant.objects.create(slug="anders", name="Anders")
    for user, status in (
        (make_user("anna", tenant), 200),
        (make_user("ben", other, "admin"), 404),
        (make_user("cleo"), 404),
    ):
        client.force_login(user)
        assert client.get(f"/sources/{version.pk}/").status_code == status, user


def test_what_is_withheld_is_neither_shown_nor_cited(answered, client):
    client.force_login(answered.conversation.user)
    citation = answered.citations.get()
    Document.objects.filter(versions=citation.version_id).update(state=Document.State.ARCHIVED)
    assert client.get(f"/sources/{citation.version_id}/").status_code == 404
    page = client.get(answered.conversation.get_absolute_url()).text
    assert f"/sources/{citation.version_id}/" not in page
    assert "[1]" in page


def test_a_long_document_is_shown_in_parts(make_user, upload, run_jobs, client):
    paragraphs = "\n\n".join(
        f"Absatz {n} handelt von nichts Besonderem, aber ausführlich." for n in range(4000)
    )
    version = upload("lang.md", f"# Lang\n\n{paragraphs}").version
    run_jobs()
    client.force_login(make_user("anna"))
    seen: list[str] = []
    address: str | None = f"/sources/{version.pk}/"
    while address:
        page = client.get(address).text
        seen += re.findall(r"Absatz (\d+) handelt", page)
        later = re.findall(r'href="(\?at=\d+)">Nächster Teil', page)
        address = f"/sources/{version.pk}/{later[0]}" if later else None
    assert seen == [str(n) for n in range(4000)]


def test_examples_come_from_the_base_in_the_pages_language(base, make_user, client):
    client.force_login(make_user("anna"))
    client.cookies["django_language"] = "en"
    shown = re.findall(r'name="question" value="([^"]+)"', client.get("/").text)
    assert shown[0] == "Watering cacti"
    client.cookies["django_language"] = "de"
    shown = re.findall(r'name="question" value="([^"]+)"', client.get("/").text)
    assert shown[-1] == "Watering cacti"


def test_an_empty_base_says_so(make_user, client):
    client.force_login(make_user("anna"))
    assert "Noch ist nichts indexiert." in client.get("/").text


def test_asking_without_javascript(base, site, make_user):
    make_user("anna")
    browser = log_in(site, "anna")
    page = post(browser, "/ask/", question=QUESTION)
    assert re.fullmatch(r"/conversations/\d+/", page.url.path)
    wait_until(lambda: Turn.objects.filter(state=Turn.State.DONE).exists(), what="the answer finished")
    page = browser.get(page.url.path)
    assert "Spinnmilben erkennt man" in page.text
    receipt = browser.get(re.findall(r'href="(/turns/\d+/receipt/)"', page.text)[0])
    assert "rule_based" in receipt.text
    again = post(browser, "/ask/", question="Und gegen Läuse?", conversation=page.url.path.split("/")[2])
    assert again.url.path == page.url.path
    assert Turn.objects.count() == 2


def test_a_wrong_question_comes_back_with_what_was_typed(base, site, make_user):
    make_user("anna")
    browser = log_in(site, "anna")
    page = post(browser, "/ask/", question="lang " * 900)
    assert page.status_code == 422
    assert "mehr als 4000" in page.text
    assert "lang lang" in page.text
    assert 'name="next" value="/"' in page.text
    assert not Turn.objects.exists()


def test_the_language_of_everybody_and_of_the_membership(make_user, tenant, client):
    assert "Anmelden" in client.get("/login/").text
    client.post("/language/", {"language": "en", "next": "/login/"})
    assert "Log in" in client.get("/login/").text
    assert (
        client.post("/language/", {"language": "xx", "next": "https://example.org/"}).headers["Location"]
        == "/"
    )

    user = make_user("anna", tenant)
    client.post("/login/", {"username": "anna", "password": PASSWORD})
    assert "Was möchtest du wissen?" in client.get("/").text
    client.post("/language/", {"language": "en", "next": "/"})
    assert "What would you like to know?" in client.get("/").text
    assert Membership.objects.get(user=user).language == "en"
    other = Client()
    other.post("/login/", {"username": "anna", "password": PASSWORD})
    assert "What would you like to know?" in other.get("/").text


def test_settings_are_kept_with_the_membership(make_user, tenant, client):
    user = make_user("anna", tenant)
    other = Tenant.objects.create(slug="anders", name="Anderswo")
    stranger = Membership.objects.create(user=make_user("ben"), tenant=other)
    client.force_login(user)
    assert "Wessen Wissen du befragst" not in client.get("/settings/").text
    client.post("/settings/", {"language": "en", "level": "expert"})
    membership = Membership.objects.get(user=user)
    assert (membership.language, membership.level) == ("en", "expert")
    assert client.post("/settings/", {"language": "fr", "level": "expert"}).status_code == 200
    assert Membership.objects.get(user=user).language == "en"

    second = Membership.objects.create(user=user, tenant=other, language="de")
    assert client.post("/settings/tenant/", {"membership": stranger.pk}).status_code == 422
    client.post("/settings/tenant/", {"membership": second.pk})
    assert client.session["tenant_id"] == other.pk
    assert "Anderswo" in client.get("/").text


def test_without_a_membership_the_common_base_is_asked(make_user, client):
    client.force_login(make_user("anna"))
    assert "Du gehörst noch zu keinem Mandanten" in client.get("/settings/").text
    assert client.get("/").status_code == 200


def test_wrong_passwords_are_told_and_then_locked_out(make_user, client):
    make_user("anna")
    wrong = client.post("/login/", {"username": "anna", "password": "no"})
    assert wrong.status_code == 200
    assert 'role="alert"' in wrong.text
    for _ in range(10):
        last = client.post("/login/", {"username": "anna", "password": "no"})
    assert last.status_code == 429
    assert "Zu viele Versuche" in last.text
    assert "15 Minuten" in last.text
    locked = client.post("/login/", {"username": "anna", "password": PASSWORD})
    assert locked.status_code == 429


def test_logging_out_takes_a_post(make_user, client):
    client.force_login(make_user("anna"))
    assert client.get("/logout/").status_code == 405
    assert client.post("/logout/").headers["Location"] == "/login/"
    assert client.get("/").status_code == 302


def test_errors_have_pages_of_their_own(make_user, client):
    assert "Seite nicht gefunden" in client.get("/nirgends/").text
    client.cookies["django_language"] = "en"
    assert "Page not found" in client.get("/nowhere/").text
    strict = Client(enforce_csrf_checks=True)
    refused = strict.post("/login/", {"username": "a", "password": "b"})
    assert refused.status_code == 403
    assert "Die Seite war zu alt" in refused.text


def test_no_page_has_inline_scripts_styles_or_handlers(answered, client):
    user = answered.conversation.user
    client.force_login(user)
    addresses = ["/", "/conversations/", "/settings/", *pages_of(answered)[:3], "/nowhere/"]
    addresses.append(f"/sources/{answered.citations.get().version_id}/?chunk=gone")
    for address in addresses:
        page = client.get(address).text
        assert not re.search(r"<script(?![^>]*\ssrc=)", page), address
        assert not re.search(r"<style|\sstyle=|\son\w+=", page), address
