import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from knowledge.governance import request_reindex
from knowledge.imports import wait_for_jobs
from knowledge.index.settings import IndexSettings
from knowledge.index.state import live_state
from knowledge.management.arguments import ProgressBar, add_json, add_tenant, print_json, tenant_named
from knowledge.models import IngestJob, Scope
from knowledge.scopes import scope_of


class Command(BaseCommand):
    help = "Look at the index and build it anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        status = actions.add_parser(
            "status", help="what is live, and whether it is what the settings ask for"
        )
        reindex = actions.add_parser("reindex", help="build the index anew with the settings asked for")
        reindex.add_argument("--wait", action="store_true", help="wait until it is live or has failed")
        for action in (status, reindex):
            add_tenant(action)
            add_json(action)

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        scope = scope_of(tenant_named(options["tenant"]))
        if action == "status":
            self._status(scope, as_json=options["json"])
        else:
            self._reindex(scope, wait=options["wait"], as_json=options["json"])

    def _status(self, scope: Scope, *, as_json: bool) -> None:
        state = live_state(scope)
        if as_json:
            live = state and {
                "number": state.number,
                "root_hash": state.root_hash,
                "chunks": state.chunk_count,
                "documents": state.document_count,
                "settings": state.settings,
            }
            print_json(
                self.stdout,
                {
                    "live": live,
                    "desired": IndexSettings.desired().as_dict(),
                    "mismatch": list(state.mismatch) if state else [],
                },
            )
            return
        if state is None:
            self.stdout.write("Nothing is indexed yet. Import a folder with import_knowledge.")
            return
        self.stdout.write(
            f"Index version {state.number}: {state.document_count} documents, {state.chunk_count} chunks\n"
            f"root hash {state.root_hash}"
        )
        for name, value in state.settings.items():
            wanted = "" if name not in state.mismatch else f"   MISMATCH: desired is {state.desired[name]}"
            self.stdout.write(f"  {name:20} {value}{wanted}")
        if state.mismatch:
            self.stdout.write("Run “index reindex” to build it with the desired settings.")

    def _reindex(self, scope: Scope, *, wait: bool, as_json: bool) -> None:
        began = time.monotonic()
        job = request_reindex(scope=scope, user=None, reason="index reindex")
        if wait:
            wait_for_jobs([job.pk], on_progress=ProgressBar(1, "reindexed").show)
            job = IngestJob.objects.get(pk=job.pk)
        result = {"job": job.pk, "state": job.state, "seconds": round(time.monotonic() - began, 1)}
        if as_json:
            print_json(self.stdout, result)
        else:
            self.stdout.write(f"Job {job.pk}: {job.get_state_display()}. {job.error_text}".strip())
        if wait and job.state != IngestJob.State.COMPLETED:
            raise CommandError(f"Job {job.pk} did not complete.")
