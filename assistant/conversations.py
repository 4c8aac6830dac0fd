"""Finding, beginning and deleting conversations and their turns. Everything here blocks."""

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Max
from django.db.models.functions import Now

from accounts.models import Tenant, User
from accounts.permissions import tenants_of
from assistant.errors import AlreadyAnswering, EmptyQuestion, NotFound, NotMember, QuestionTooLong
from assistant.models import MAX_QUESTION_CHARS, Conversation, Turn

TITLE_CHARS = 80
# PostgreSQL's text has no NUL; nobody types one.
_NUL = "\x00"


def find_conversation(*, user: User, conversation_id: int) -> Conversation:
    """The user's own conversation; raises NotFound."""
    conversation = Conversation.objects.select_related("tenant").filter(pk=conversation_id, user=user).first()
    if conversation is None:
        raise NotFound
    return conversation


def find_turn(*, user: User, turn_id: int) -> Turn:
    """A turn of one of the user's own conversations, with it; raises NotFound."""
    turn = Turn.objects.select_related("conversation").filter(pk=turn_id, conversation__user=user).first()
    if turn is None:
        raise NotFound
    return turn


def checked_question(question: str) -> str:
    """The question as it is kept and asked; raises EmptyQuestion or QuestionTooLong."""
    question = question.replace(_NUL, "").replace("\r\n", "\n").strip()
    if not question:
        raise EmptyQuestion
    if len(question) > MAX_QUESTION_CHARS:
        raise QuestionTooLong(chars=len(question), max_chars=MAX_QUESTION_CHARS)
    return question


def begin_turn(
    *, user: User, tenant: Tenant | None, question: str, language: str, conversation_id: int | None
) -> Turn:
    """Write the question down, in a new conversation (of `tenant`) where none is given.

    Raises EmptyQuestion, QuestionTooLong, NotFound, NotMember, AlreadyAnswering.
    """
    question = checked_question(question)
    try:
        with transaction.atomic():
            conversation = (
                Conversation.objects.create(user=user, tenant=tenant, title=title_for(question))
                if conversation_id is None
                else _take_up(user=user, conversation_id=conversation_id)
            )
            last = conversation.turns.aggregate(last=Max("number"))["last"] or 0
            return Turn.objects.create(
                conversation=conversation,
                number=last + 1,
                question=question,
                language=language,
                provider=settings.AI_DEFAULT_PROVIDER,
            )
    except IntegrityError as error:
        # The database has the last word on one answer at a time.
        if "turn_one_streaming" in str(error):
            raise AlreadyAnswering from error
        raise


def streaming_turn_of(*, user: User, conversation_id: int) -> int | None:
    """The id of the turn that is being answered, if there is one."""
    return (
        Turn.objects.filter(
            conversation_id=conversation_id, conversation__user=user, state=Turn.State.STREAMING
        )
        .values_list("pk", flat=True)
        .first()
    )


def delete_conversation(*, user: User, conversation_id: int) -> list[int]:
    """Delete it with all that hangs on it; returns the ids its turns had. Raises NotFound."""
    with transaction.atomic():
        conversation = find_conversation(user=user, conversation_id=conversation_id)
        turn_ids = list(conversation.turns.values_list("pk", flat=True))
        conversation.delete()
    return turn_ids


def title_for(question: str) -> str:
    """The question on one line, cut at a word where it is long."""
    line = " ".join(question.split())
    if len(line) <= TITLE_CHARS:
        return line
    return line[:TITLE_CHARS].rsplit(" ", 1)[0] + " …"


def _take_up(*, user: User, conversation_id: int) -> Conversation:
    """Lock the conversation for a further turn."""
    conversation = (
        Conversation.objects.select_for_update(of=("self",))
        .select_related("tenant")
        .filter(pk=conversation_id, user=user)
        .first()
    )
    if conversation is None:
        raise NotFound
    tenant = conversation.tenant
    if tenant is not None and not tenants_of(user).filter(pk=tenant.pk).exists():
        raise NotMember(tenant=tenant.name)
    Conversation.objects.filter(pk=conversation.pk).update(updated_at=Now())
    return conversation
