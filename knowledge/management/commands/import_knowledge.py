from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from knowledge.errors import KnowledgeError
from knowledge.folders import files_of
from knowledge.imports import import_files, wait_for_jobs
from knowledge.management.arguments import (
    ProgressBar,
    add_json,
    add_tenant,
    as_command_error,
    print_json,
    tenant_named,
)
from knowledge.models import IngestJob
from knowledge.scopes import scope_of


class Command(BaseCommand):
    help = "Import the files of a folder (or one file) as documents; what has not changed is left as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", type=Path, metavar="PATH")
        parser.add_argument(
            "--include",
            action="append",
            default=[],
            metavar="GLOB",
            help="only files that match; may be repeated",
        )
        parser.add_argument(
            "--wait", action="store_true", help="wait until every file is indexed or has failed"
        )
        parser.add_argument("--note", default="", help="why, shown with each version")
        add_tenant(parser)
        add_json(parser)

    def handle(
        self, *args: Any, path: Path, include: list[str], wait: bool, note: str, **options: Any
    ) -> None:
        scope = scope_of(tenant_named(options["tenant"]))
        if not path.exists():
            raise CommandError(f"{path} is not there. Give the path of a folder or a file.")
        try:
            files = files_of(path, include=include)
        except KnowledgeError as error:
            raise as_command_error(error) from None
        bar = ProgressBar(len(files), "taken in")
        imported = import_files(files, scope=scope, user=None, note=note, on_progress=bar.show)
        failed: list[IngestJob] = []
        if wait:
            bar = ProgressBar(len(imported.job_ids), "indexed")
            wait_for_jobs(imported.job_ids, on_progress=bar.show)
            failed = list(
                IngestJob.objects.filter(pk__in=imported.job_ids)
                .exclude(state=IngestJob.State.COMPLETED)
                .select_related("document")
            )
        trouble: list[dict[str, Any]] = [
            {"source_key": refused.source_key, "error": refused.text} for refused in imported.refused
        ]
        trouble += [
            {
                "source_key": job.document.source_key if job.document else "",
                "error": job.error_text,
                "job": job.pk,
            }
            for job in failed
        ]
        summary = {
            "files": len(files),
            "outcomes": imported.outcomes,
            "jobs": len(imported.job_ids),
            "indexed": len(imported.job_ids) - len(failed) if wait else None,
            "failed": trouble,
        }
        if options["json"]:
            print_json(self.stdout, summary)
        else:
            for item in trouble:
                self.stderr.write(f"{item['source_key']}: {item['error']}")
            done = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in imported.outcomes.items())
            self.stdout.write(f"{len(files)} files: {done or 'none taken in'}; {len(trouble)} failed.")
            if not wait and imported.job_ids:
                self.stdout.write("A worker indexes them now; see the jobs in the admin, or use --wait.")
        if trouble:
            raise CommandError(f"{len(trouble)} of {len(files)} files failed.")
