"""Bring the database to what this checkout needs: migrations; at first also the sample base and an admin.

    python -m kamerplanter.runtime.prepare [--migrate-only | --without-sample]

What has been done is noted in the home, so that the next start skips it.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

from kamerplanter.runtime.home import CHECKOUT, Home


def fingerprint() -> str:
    """Changes with every migration, the project's and its libraries'."""
    digest = hashlib.sha256((CHECKOUT / "requirements" / "runtime.txt").read_bytes())
    for app in ("accounts", "knowledge", "consent", "assistant", "kamerplanter"):
        for file in sorted((CHECKOUT / app).rglob("migrations/*.py")):
            digest.update(str(file.relative_to(CHECKOUT)).encode() + file.read_bytes())
    return digest.hexdigest()


def is_prepared(home: Home, *, step: str) -> bool:
    """step: "migrated", or "prepared", which is that with sample base and admin."""
    try:
        return bool(json.loads(_marker(home).read_text()).get(step) == fingerprint())
    except (FileNotFoundError, ValueError):
        return False


def note(home: Home, *, step: str) -> None:
    try:
        done = json.loads(_marker(home).read_text())
    except (FileNotFoundError, ValueError):
        done = {}
    steps = ("migrated", "prepared") if step == "prepared" else (step,)
    _marker(home).write_text(json.dumps(done | dict.fromkeys(steps, fingerprint())))


def _marker(home: Home) -> Path:
    return home.path / "prepared.json"


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kamerplanter.settings")
    import django

    django.setup()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    if "--migrate-only" in arguments:
        return
    if not get_user_model().objects.exists():
        # The admin last: should anything before fail, the next start is a first one again.
        if "--without-sample" not in arguments:
            print("Loading the sample base, which takes about half a minute", flush=True)
            call_command("load_sample", stdout=sys.stderr)
        call_command("ensure_admin")


if __name__ == "__main__":
    main(sys.argv[1:])
