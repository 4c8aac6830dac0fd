"""Make the first administrator, once."""

import secrets
from typing import Any

from django.contrib.auth import get_user_model
from django.core.management.base import BaseCommand, CommandParser
from django.db import transaction

# Without the characters that are taken for one another.
ALPHABET = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789"


class Command(BaseCommand):
    help = "Makes the user `admin` with a random password and prints it; does nothing when there is one."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--reset", action="store_true", help="give the user admin a new password and print it"
        )

    def handle(self, *args: Any, reset: bool, **options: Any) -> None:
        users = get_user_model()
        password = "-".join("".join(secrets.choice(ALPHABET) for _ in range(5)) for _ in range(4))
        with transaction.atomic():
            admin, made = users.objects.select_for_update().get_or_create(
                username="admin", defaults={"is_staff": True, "is_superuser": True}
            )
            if not (made or reset):
                return
            admin.set_password(password)
            admin.save(update_fields=["password"])
        self.stdout.write(
            f"Log in as admin with the password {password} and choose one of your own; it is not shown again."
        )
