"""Every sentence a person may read is there in German, and the compiled catalogues match their sources."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

APPS = ("accounts", "assistant", "kamerplanter", "knowledge")
MARKS = {
    "_",
    "gettext",
    "gettext_lazy",
    "gettext_noop",
    "translate",
    "translatable",
    "pgettext",
    "pgettext_lazy",
}
TRANSLATE_TAG = re.compile(r"""\{%-?\s*(?:translate|trans)\s+(?:"([^"]+)"|'([^']+)')""")
CATALOGUES = sorted(
    path for path in ROOT.glob("**/locale/de/LC_MESSAGES/django.po") if ".venv" not in path.parts
)


def entries(po: Path) -> dict[str, str]:
    """The sentences of a catalogue, with their first form in German."""
    found: dict[str, str] = {}
    msgid: str | None = None
    target = ""
    for line in [*po.read_text(encoding="utf-8").splitlines(), ""]:
        if match := re.match(r'(msgid|msgid_plural|msgstr(?:\[\d\])?) "(.*)"$', line):
            target = match[1]
            if target == "msgid":
                msgid = ast.literal_eval(f'"{match[2]}"')
            elif target in {"msgstr", "msgstr[0]"} and msgid is not None:
                found[msgid] = ast.literal_eval(f'"{match[2]}"')
        elif line.startswith('"') and msgid is not None:
            if target == "msgid":
                msgid += ast.literal_eval(line)
            elif target in {"msgstr", "msgstr[0]"}:
                found[msgid] += ast.literal_eval(line)
    return found


def marked_in_code() -> Iterator[tuple[str, str]]:
    for app in APPS:
        for path in sorted((ROOT / app).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if not isinstance(node, ast.Call) or not node.args:
                    continue
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                sentence = node.args[1 if name.startswith("pgettext") else 0]
                if name in MARKS and isinstance(sentence, ast.Constant) and isinstance(sentence.value, str):
                    yield sentence.value, f"{path.relative_to(ROOT)}:{node.lineno}"


def marked_in_templates() -> Iterator[tuple[str, str]]:
    for path in sorted((ROOT / "templates").rglob("*.html")):
        for match in TRANSLATE_TAG.finditer(path.read_text(encoding="utf-8")):
            yield match[1] or match[2], str(path.relative_to(ROOT))


def test_every_marked_sentence_is_in_a_german_catalogue():
    known = {msgid for po in CATALOGUES for msgid, german in entries(po).items() if german}
    marked = [*marked_in_code(), *marked_in_templates()]
    assert len(marked) > 300
    assert [f"{where}: {sentence}" for sentence, where in marked if sentence and sentence not in known] == []


@pytest.mark.parametrize("po", CATALOGUES, ids=lambda po: str(po.relative_to(ROOT)))
def test_compiled_catalogues_are_those_of_their_sources(po):
    with po.with_suffix(".mo").open("rb") as compiled:
        catalogue = gettext.GNUTranslations(compiled)
    differing = [
        msgid
        for msgid, german in entries(po).items()
        if msgid and german and german not in {catalogue.gettext(msgid), catalogue.ngettext(msgid, msgid, 1)}
    ]
    assert differing == []


@pytest.mark.parametrize("po", CATALOGUES, ids=lambda po: str(po.relative_to(ROOT)))
def test_translations_keep_their_placeholders(po):
    placeholder = re.compile(r"%\(\w+\)[sd]")
    wrong = [
        msgid
        for msgid, german in entries(po).items()
        if msgid
        and german
        and not set(placeholder.findall(german)) <= set(placeholder.findall(msgid)) | {"%(counter)s"}
    ]
    assert wrong == []
