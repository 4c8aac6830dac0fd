"""The pages of the assistant. They work without JavaScript; with it, the socket does the same, live."""

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import get_language, gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from redis.exceptions import RedisError

from accounts.membership import current_membership
from accounts.models import Tenant, User
from assistant import stream
from assistant.conversations import delete_conversation, find_conversation, find_turn
from assistant.errors import AssistantError, NotFound
from assistant.examples import example_questions, has_documents
from assistant.following import settle, stop
from assistant.models import MAX_QUESTION_CHARS, Citation, Conversation, Receipt, Turn
from assistant.producing import ask
from assistant.rendering import answer_html
from assistant.sources import active_version_of, find_stretch, find_version, part_of
from assistant.threads import in_thread
from assistant.turns import citations_shown, failure_text, urls_of
from knowledge.models import DocumentVersion, ExtractedText

PER_PAGE = 20
STAGES = (
    ("embed", _("Embedding the question")),
    ("keyword", _("Keyword search")),
    ("vector", _("Vector search")),
    ("fuse", _("Joining both")),
    ("rerank", _("Reranking")),
    ("load", _("Loading the passages")),
    ("total", _("Retrieval, in all")),
    ("first_token", _("Until the first words")),
    ("answer", _("Until the whole answer")),
)


class ShownSource(NamedTuple):
    citation: Citation
    url: str


class ShownTurn(NamedTuple):
    """A turn as the templates need it."""

    turn: Turn
    html: str
    sources: list[ShownSource]
    failure: str


@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "assistant/home.html", _home_context(request))


async def ask_question(request: HttpRequest) -> HttpResponse:
    """The form without a socket: begin the answer, and show the conversation it is written into."""
    if request.method != "POST":
        return redirect("home")
    user = await request.auser()
    if not isinstance(user, User):
        return redirect("login")
    question = request.POST.get("question", "")
    conversation_id = _number(request.POST.get("conversation", ""))
    try:
        turn = await ask(
            user=user,
            tenant=await in_thread(_tenant_of)(request),
            question=question,
            language=get_language() or "en",
            conversation_id=conversation_id,
        )
    except NotFound:
        raise Http404 from None
    except AssistantError as error:
        return await in_thread(_asked_in_vain)(request, conversation_id, question, str(error))
    return redirect(f"{turn.conversation.get_absolute_url()}#turn-{turn.pk}")


@login_required
@require_GET
def conversation_list(request: HttpRequest) -> HttpResponse:
    conversations = (
        Conversation.objects.filter(user=_user(request))
        .select_related("tenant")
        .annotate(turn_count=Count("turns"))
        .order_by("-updated_at", "-pk")
    )
    page = Paginator(conversations, PER_PAGE).get_page(request.GET.get("page"))
    return render(request, "assistant/conversations.html", {"page": page})


@login_required
@require_GET
def conversation_page(request: HttpRequest, conversation_id: int) -> HttpResponse:
    return render(request, "assistant/conversation.html", _conversation_context(request, conversation_id))


@login_required
@require_http_methods(["GET", "POST"])
def delete(request: HttpRequest, conversation_id: int) -> HttpResponse:
    """Ask whether to delete; on POST, do."""
    conversation = _own_conversation(request, conversation_id)
    if request.method == "GET":
        return render(request, "assistant/conversation_delete.html", {"conversation": conversation})
    turn_ids = delete_conversation(user=_user(request), conversation_id=conversation_id)
    async_to_sync(_forget)(turn_ids)
    messages.success(request, gettext("The conversation has been deleted."))
    return redirect("conversations")


@login_required
@require_GET
def turn_fragment(request: HttpRequest, turn_id: int) -> HttpResponse:
    """One turn as it is now, for pages that cannot have a socket."""
    turn = _own_turn(request, turn_id)
    if turn.state == Turn.State.STREAMING:
        async_to_sync(settle)(turn_id=turn.pk)
        turn.refresh_from_db()
    return render(request, "assistant/_turn.html", {"shown": shown_turns([turn])[0]})


@login_required
@require_POST
def stop_turn(request: HttpRequest, turn_id: int) -> HttpResponse:
    turn = _own_turn(request, turn_id)
    async_to_sync(stop)(turn_id=turn.pk)
    return redirect(f"{turn.conversation.get_absolute_url()}#turn-{turn.pk}")


@login_required
@require_GET
def receipt_page(request: HttpRequest, turn_id: int) -> HttpResponse:
    """What an answer was made from."""
    turn = _own_turn(request, turn_id)
    receipt = Receipt.objects.filter(turn=turn).first()
    if receipt is None:
        raise Http404
    cited = citations_shown([turn.pk])[turn.pk]
    citations, urls = {citation.number: citation for citation in cited}, urls_of(cited)
    passages = [
        passage | {"citation": citations.get(passage["number"]), "url": urls.get(passage["number"])}
        for passage in receipt.passages
    ]
    context = {
        "turn": turn,
        "receipt": receipt,
        "passages": passages,
        "index_versions": sorted(receipt.index_versions.items()),
        "timings": [
            (label, receipt.timings_ms[name]) for name, label in STAGES if name in receipt.timings_ms
        ],
    }
    return render(request, "assistant/receipt.html", context)


@login_required
@require_GET
def source_page(request: HttpRequest, version_id: int) -> HttpResponse:
    """A version's text, the passage of `?chunk=` highlighted; `?at=` pages through a long one."""
    version = find_version(user=_user(request), version_id=version_id)
    if version is None:
        raise Http404
    extracted = ExtractedText.objects.filter(version=version).first()
    if extracted is None:
        raise Http404
    chunk_id = request.GET.get("chunk", "").replace("\0", "")  # which the database refuses to be asked for
    stretch = find_stretch(version=version, chunk_id=chunk_id) if chunk_id else None
    if stretch is not None and stretch.end > len(extracted.text):
        stretch = None
    active: DocumentVersion | None = version if version.active else active_version_of(version)
    context = {
        "version": version,
        "document": version.document,
        "extracted": extracted,
        "active": active,
        "stretch": stretch,
        "back": _conversation_citing(request, version, chunk_id),
        "is_lost": bool(chunk_id) and stretch is None,
        "part": part_of(extracted=extracted, stretch=stretch, at=_number(request.GET.get("at", "")) or 0),
    }
    return render(request, "assistant/source.html", context)


def shown_turns(turns: Sequence[Turn]) -> list[ShownTurn]:
    """Turns with their answers as HTML and their sources."""
    citations = citations_shown(turn.pk for turn in turns)
    urls = {turn_id: urls_of(cited) for turn_id, cited in citations.items()}
    return [
        ShownTurn(
            turn=turn,
            html=answer_html(turn.answer, urls[turn.pk]),
            sources=[ShownSource(c, urls[turn.pk][c.number]) for c in citations[turn.pk]],
            failure=failure_text(turn.error_code) if turn.state == Turn.State.FAILED else "",
        )
        for turn in turns
    ]


def _asked_in_vain(
    request: HttpRequest, conversation_id: int | None, question: str, error: str
) -> HttpResponse:
    """The page again, with what was typed and what is wrong with it."""
    if conversation_id is None:
        template, context, here = "assistant/home.html", _home_context(request), reverse("home")
    else:
        template, context = "assistant/conversation.html", _conversation_context(request, conversation_id)
        here = reverse("conversation", args=[conversation_id])
    return render(
        request, template, context | {"question": question, "error": error, "here": here}, status=422
    )


def _home_context(request: HttpRequest) -> dict[str, object]:
    tenant = _tenant_of(request)
    return {
        "tenant": tenant,
        "has_documents": has_documents(tenant=tenant),
        "examples": example_questions(tenant=tenant, language=get_language() or "en"),
        "max_chars": MAX_QUESTION_CHARS,
    }


def _conversation_context(request: HttpRequest, conversation_id: int) -> dict[str, object]:
    conversation = _own_conversation(request, conversation_id)
    for turn_id in conversation.turns.filter(state=Turn.State.STREAMING).values_list("pk", flat=True):
        async_to_sync(settle)(turn_id=turn_id)
    turns = list(conversation.turns.order_by("number"))
    return {
        "conversation": conversation,
        "shown_turns": shown_turns(turns),
        "blank": ShownTurn(turn=Turn(pk=0, conversation=conversation), html="", sources=[], failure=""),
        "is_streaming": any(turn.state == Turn.State.STREAMING for turn in turns),
        "max_chars": MAX_QUESTION_CHARS,
    }


def _conversation_citing(request: HttpRequest, version: DocumentVersion, chunk_id: str) -> str:
    """Where the person last had this passage cited; empty if nowhere."""
    citation = (
        Citation.objects.select_related("turn__conversation")
        .filter(chunk_id=chunk_id, version=version, turn__conversation__user=_user(request))
        .order_by("-pk")
        .first()
    )
    return f"{citation.turn.conversation.get_absolute_url()}#turn-{citation.turn_id}" if citation else ""


async def _forget(turn_ids: list[int]) -> None:
    with suppress(RedisError):  # what is left there expires, and its producer finds the turn gone
        for turn_id in turn_ids:
            await stream.send_stop(turn_id)
            await stream.forget(turn_id)


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)
    return request.user


def _tenant_of(request: HttpRequest) -> Tenant | None:
    membership = current_membership(user=request.user, session=request.session)
    return membership.tenant if membership else None


def _own_conversation(request: HttpRequest, conversation_id: int) -> Conversation:
    try:
        return find_conversation(user=_user(request), conversation_id=conversation_id)
    except NotFound:
        raise Http404 from None


def _own_turn(request: HttpRequest, turn_id: int) -> Turn:
    try:
        return find_turn(user=_user(request), turn_id=turn_id)
    except NotFound:
        raise Http404 from None


def _number(value: str) -> int | None:
    """A positive number from a form or an address; None for anything else."""
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 18 else None
