from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from knowledge.doctor import examine
from knowledge.management.arguments import add_json, print_json


class Command(BaseCommand):
    help = "Look for what is wrong, and say what to do. The exit status is 0 only if nothing is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--quick", action="store_true", help="do not read every stored file")
        add_json(parser)

    def handle(self, *args: Any, quick: bool, **options: Any) -> None:
        findings = examine(read_files=not quick)
        if options["json"]:
            print_json(self.stdout, {"findings": [finding._asdict() for finding in findings]})
        for finding in [] if options["json"] else findings:
            self.stdout.write(f"{finding.code}: {finding.text}\n  {finding.advice}")
        if findings:
            raise CommandError(f"{len(findings)} found.")
        self.stderr.write("Nothing is wrong.")
