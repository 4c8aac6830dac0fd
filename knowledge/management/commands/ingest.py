from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from knowledge.jobs import describe_job
from knowledge.management.arguments import add_json, print_json
from knowledge.models import IngestJob
from knowledge.running import run_queue


class Command(BaseCommand):
    help = "Run jobs by hand, in this process."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        run = actions.add_parser("run", help="run one job, and those queued before it")
        run.add_argument("job", type=int, metavar="JOB")
        add_json(run)

    def handle(self, *args: Any, job: int, **options: Any) -> None:
        wanted = IngestJob.objects.filter(pk=job).first()
        if wanted is None:
            raise CommandError(f"There is no job {job}.")
        if wanted.is_finished:
            raise CommandError(
                f"Job {job} is {wanted.get_state_display()} already; retry it to run it again."
            )
        run_queue(until_job=job)
        wanted.refresh_from_db()
        if options["json"]:
            print_json(self.stdout, describe_job(wanted))
        else:
            self.stdout.write(f"Job {job}: {wanted.get_state_display()}. {wanted.error_text}".strip())
        if wanted.state != IngestJob.State.COMPLETED:
            raise CommandError(f"Job {job} did not complete.")
