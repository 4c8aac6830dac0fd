"""`ask` on the command line, the providers' contract, and the checks at start-up."""

import inspect
import io
import json
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.core.checks import run_checks
from django.core.management import CommandError, call_command

from assistant.errors import UnknownProvider
from assistant.prompt import NumberedPassage, Prompt
from assistant.providers.registry import provider_of
from knowledge.scopes import scope_of


def ask(*arguments: str) -> Any:
    out = io.StringIO()
    call_command("ask", *arguments, "--json", stdout=out)
    printed = out.getvalue()
    assert printed.count("\n") == 1
    return json.loads(printed)


def test_an_answer_as_json(base):
    said = ask("Woran erkenne ich Spinnmilben?")
    assert set(said) == {"answer", "supported", "provider", "passages", "receipt"}
    assert said["supported"] is True
    assert said["provider"] == "rule_based"
    assert said["passages"][0]["document"] == "spinnmilben.md"
    assert [passage["number"] for passage in said["passages"]] == [1, 2, 3, 4][: len(said["passages"])]
    assert "feinen Gespinsten" in said["answer"]
    assert said["receipt"]["index_versions"] == {"global": 3}
    assert len(said["receipt"]["prompt_hash"]) == 64


def test_the_same_question_and_index_give_the_same_answer(base):
    first, second = ask("Was hilft gegen Spinnmilben?"), ask("Was hilft gegen Spinnmilben?")
    for said in (first, second):
        said["receipt"].pop("timings_ms")
    assert first == second


def test_a_tenant_sees_its_own_beside_the_common_base(base, tenant, upload, run_jobs):
    upload(
        "eigen.md",
        "# Hausregel\n\nDer Gartenschlauch hängt links neben der Regentonne.",
        scope=scope_of(tenant),
    )
    run_jobs()
    question = "Wo hängt der Gartenschlauch?"
    assert "Regentonne" in ask(question, "--tenant", tenant.slug)["answer"]
    assert "Regentonne" not in json.dumps(ask(question))


def test_an_empty_base(transactional_db):
    said = ask("Woran erkenne ich Spinnmilben?", "--language", "en")
    assert said["supported"] is False
    assert said["passages"] == []
    assert said["answer"] == "The knowledge base is still empty, so there is nothing to answer from yet."


@pytest.mark.parametrize("arguments", [["  "], ["a" * 4001], ["q", "--tenant", "nobody"]])
def test_what_cannot_be_asked_is_an_error(transactional_db, arguments):
    with pytest.raises(CommandError):
        ask(*arguments)


PROMPT = Prompt(
    question="Wann gießen?",
    language="de",
    supported=True,
    passages=(
        NumberedPassage(
            number=1, title="T", heading="", text="Gieße, wenn es trocken ist.", language="de", score=1.0
        ),
    ),
)


@pytest.mark.parametrize("kind", sorted(django_settings.AI_PROVIDERS))
async def test_every_provider_keeps_the_contract(kind):
    provider = provider_of(kind)
    assert provider.kind == kind
    for flag in (provider.tools, provider.json_schema, provider.streaming, provider.is_remote):
        assert isinstance(flag, bool)
    stream = provider.chat_stream(PROMPT)
    pieces = [piece async for piece in stream]
    assert inspect.isasyncgen(stream)
    assert all(pieces)
    assert "".join(pieces) == await provider.chat(PROMPT)
    assert "[1]" in "".join(pieces)
    assert (await provider.health_check()).healthy
    assert isinstance(await provider.list_models(), list)


def test_an_unknown_provider_is_never_another_one(settings):
    with pytest.raises(UnknownProvider, match="gpt"):
        provider_of("gpt")
    settings.AI_DEFAULT_PROVIDER = "gpt"
    settings.AI_PROVIDERS = {**settings.AI_PROVIDERS, "lost": "assistant.providers.nowhere.Lost"}
    found = {problem.id for problem in run_checks()}
    assert {"assistant.E001", "assistant.E002"} <= found


def test_the_hash_of_a_prompt_says_what_was_asked():
    other = Prompt(**{**PROMPT.__dict__, "question": "Wann düngen?"})
    assert PROMPT.digest != other.digest
    assert PROMPT.digest == Prompt(**PROMPT.__dict__).digest
