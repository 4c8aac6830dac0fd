"""Errors of the assistant: one base, children named for the fact, each with a sentence for the person."""

from typing import Any, ClassVar

from django.utils.translation import gettext_lazy as _


class AssistantError(Exception):
    """Base of everything the assistant raises on purpose. `str(error)` is in the language now active."""

    code: ClassVar[str] = "assistant_error"
    sentence: ClassVar[Any] = _("The assistant could not do this.")

    def __init__(self, **fields: Any) -> None:
        super().__init__(self.code)
        self.fields = fields

    def __str__(self) -> str:
        return str(self.sentence) % self.fields


class EmptyQuestion(AssistantError):
    code = "empty_question"
    sentence = _("Please write a question first.")


class QuestionTooLong(AssistantError):
    """Fields: chars, max_chars."""

    code = "question_too_long"
    sentence = _("The question has %(chars)d characters; %(max_chars)d is the most. Please shorten it.")


class AlreadyAnswering(AssistantError):
    """The conversation has a turn that is being answered."""

    code = "already_answering"
    sentence = _("The last question is still being answered. Wait for it, or stop it first.")


class NotFound(AssistantError):
    """There is no such conversation or turn, or it is somebody else's; which of the two is not told."""

    code = "not_found"
    sentence = _("This conversation does not exist (any more).")


class NotMember(AssistantError):
    """The conversation asks a tenant's base that the person does not belong to any longer."""

    code = "not_member"
    sentence = _("You no longer belong to %(tenant)s. Begin a new conversation to ask on.")


class UnknownMessage(AssistantError):
    """The socket was sent something that is no message of ours."""

    code = "unknown_message"
    sentence = _("The page sent something the server does not know. Please reload it.")


class UnknownProvider(AssistantError):
    """Fields: kind, known."""

    code = "unknown_provider"
    sentence = _("There is no provider of the kind “%(kind)s”. Known kinds: %(known)s.")


class ProviderError(AssistantError):
    """A provider could not answer."""

    code = "provider_failed"
    sentence = _("The language model could not answer. Please ask again.")


class Interrupted(AssistantError):
    """The process that wrote the answer has gone, or another error ended it."""

    code = "interrupted"
    sentence = _("The answer was interrupted. Please ask again.")


FAILURES: dict[str, type[AssistantError]] = {error.code: error for error in (ProviderError, Interrupted)}
