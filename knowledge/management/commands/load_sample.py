from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from knowledge.folders import files_of
from knowledge.imports import import_files, wait_for_jobs
from knowledge.management.arguments import ProgressBar
from knowledge.models import Document
from knowledge.scopes import scope_of


class Command(BaseCommand):
    help = "Load the sample base into a server that has no document yet, and index it."

    def handle(self, *args: Any, **options: Any) -> None:
        if Document.objects.exists():
            self.stdout.write("There are documents already; the sample base is not loaded.")
            return
        files = files_of(settings.KNOWLEDGE_SAMPLE)
        imported = import_files(files, scope=scope_of(None), user=None, note="Sample base")
        wait_for_jobs(imported.job_ids, on_progress=ProgressBar(len(files), "sample base").show)
        self.stdout.write(f"The sample base is loaded: {len(files)} documents.")
