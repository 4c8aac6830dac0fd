"""What the commands share: how they name a tenant, print JSON and show progress."""

import json
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError, OutputWrapper

from accounts.models import Tenant
from knowledge.errors import KnowledgeError


def add_tenant(parser: ArgumentParser) -> None:
    parser.add_argument("--tenant", metavar="SLUG", help="act in this tenant; without it, on what is global")


def add_json(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")


def tenant_named(slug: str | None) -> Tenant | None:
    """The tenant of this short name, None for none; raises CommandError for one that isn't there."""
    if slug is None:
        return None
    tenant = Tenant.objects.filter(slug=slug).first()
    if tenant is None:
        known = (
            ", ".join(Tenant.objects.order_by("slug").values_list("slug", flat=True)) or "there is none yet"
        )
        raise CommandError(f"There is no tenant “{slug}”. Known: {known}.")
    return tenant


def as_command_error(error: KnowledgeError) -> CommandError:
    return CommandError(error.told)


def print_json(stream: OutputWrapper, value: Any) -> None:
    stream.write(json.dumps(value, ensure_ascii=False, indent=None, default=str))


class ProgressBar:
    """A bar on standard error; one line per tenth where that is no terminal."""

    def __init__(self, total: int, label: str) -> None:
        self._total = max(total, 1)
        self._label = label
        self._shown = -1

    def show(self, done: int) -> None:
        percent = 100 * done // self._total
        is_terminal = sys.stderr.isatty()
        if percent == self._shown or (not is_terminal and percent // 10 == self._shown // 10):
            return
        self._shown = percent
        if is_terminal:
            filled = 30 * done // self._total
            bar = "█" * filled + "░" * (30 - filled)
            end = "\n" if done >= self._total else ""
            sys.stderr.write(f"\r{self._label} {bar} {done}/{self._total}{end}")
        else:
            sys.stderr.write(f"{self._label} {done}/{self._total}\n")
        sys.stderr.flush()
