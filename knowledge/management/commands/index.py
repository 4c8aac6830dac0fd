import time
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from knowledge.errors import KnowledgeError
from knowledge.governance import request_reindex, request_rollback
from knowledge.imports import wait_for_jobs
from knowledge.index.exporting import export_index
from knowledge.index.settings import IndexSettings
from knowledge.index.state import live_state
from knowledge.index.verification import verify
from knowledge.management.arguments import (
    ProgressBar,
    add_json,
    add_tenant,
    as_command_error,
    print_json,
    tenant_named,
)
from knowledge.models import IndexVersion, IngestJob, Scope
from knowledge.scopes import scope_of


class Command(BaseCommand):
    help = "Look at the index, prove it, export it, go back, build it anew."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("status", help="what is live, and whether it is what the settings ask for")
        verify = actions.add_parser("verify", help="make the index again from stored texts, and compare")
        verify.add_argument("--without-vectors", action="store_true", help="do not embed the texts again")
        reindex = actions.add_parser("reindex", help="build the index anew with the settings asked for")
        rollback = actions.add_parser("rollback", help="go back to an earlier index version")
        rollback.add_argument("number", type=int, metavar="N")
        export = actions.add_parser("export", help="write the live index as two files")
        export.add_argument("folder", type=Path, metavar="DIR")
        reindex.add_argument("--wait", action="store_true", help="wait until it is live or has failed")
        for action in actions.choices.values():
            add_tenant(action)
            add_json(action)

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        scope = scope_of(tenant_named(options["tenant"]))
        as_json: bool = options["json"]
        try:
            if action == "status":
                self._status(scope, as_json=as_json)
            elif action == "verify":
                self._verify(scope, with_vectors=not options["without_vectors"], as_json=as_json)
            elif action == "export":
                self._export(scope, options["folder"], as_json=as_json)
            elif action == "rollback":
                job = request_rollback(
                    scope=scope, number=options["number"], user=None, reason="index rollback"
                )
                self._run(job, "gone back", wait=True, as_json=as_json)
            else:
                job = request_reindex(scope=scope, user=None, reason="index reindex")
                self._run(job, "reindexed", wait=options["wait"], as_json=as_json)
        except KnowledgeError as error:
            raise as_command_error(error) from None

    def _live(self, scope: Scope) -> IndexVersion:
        if scope.live is None:
            raise CommandError("Nothing is indexed yet. Import a folder with import_knowledge.")
        return scope.live

    def _verify(self, scope: Scope, *, with_vectors: bool, as_json: bool) -> None:
        live = self._live(scope)
        bar = ProgressBar(live.document_count, "made again")
        result = verify(live, with_vectors=with_vectors, on_progress=bar.show)
        if as_json:
            print_json(self.stdout, {**asdict(result), "is_proven": result.is_proven})
        else:
            self.stdout.write(
                f"Index version {result.number}: {result.documents} documents, {result.chunks} passages\n"
                f"live root hash    {result.live_root}\nmade again        {result.rebuilt_root}"
            )
            for difference in result.differences:
                self.stdout.write(f"  {difference}")
        if not result.is_proven:
            raise CommandError(
                "The index is not what its documents and settings make. Build it anew with “index reindex”."
            )
        self.stderr.write("Proven." if with_vectors else "Proven, vectors left out.")

    def _export(self, scope: Scope, folder: Path, *, as_json: bool) -> None:
        live = self._live(scope)
        bar = ProgressBar(live.document_count, "written")
        try:
            count = export_index(live, folder, on_progress=bar.show)
        except OSError as error:
            raise CommandError(
                f"{folder} can't be written to: {error.strerror}. Name another folder."
            ) from None
        if as_json:
            print_json(self.stdout, {"folder": str(folder), "chunks": count, "root_hash": live.root_hash})
        else:
            self.stdout.write(f"{count} passages written to {folder}.")

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

    def _run(self, job: IngestJob, label: str, *, wait: bool, as_json: bool) -> None:
        began = time.monotonic()
        if wait:
            wait_for_jobs([job.pk], on_progress=ProgressBar(1, label).show)
            job = IngestJob.objects.get(pk=job.pk)
        result = {
            "job": job.pk,
            "state": job.state,
            "index_version": job.index_version.number if job.index_version else None,
            "seconds": round(time.monotonic() - began, 1),
        }
        if as_json:
            print_json(self.stdout, result)
        else:
            self.stdout.write(f"Job {job.pk}: {job.get_state_display()}. {job.error_text}".strip())
        if wait and job.state != IngestJob.State.COMPLETED:
            raise CommandError(f"Job {job.pk} did not complete.")
