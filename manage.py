"""Management commands; `./manage` runs this in the project's environment.

The embedded services are there while a command runs: those of `./run` where it is up, else its own.
"""

import os
import sys

# Commands that need no database.
ALONE = {
    "",
    "help",
    "version",
    "makemessages",
    "compilemessages",
    "collectstatic",
    "startapp",
    "diffsettings",
    "check",
}
# Commands that must find the database as it is.
AS_IT_IS = {"migrate", "makemigrations", "showmigrations", "sqlmigrate", "flush", "dbshell", "test"}


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kamerplanter.settings")
    import django
    from django.core.management import execute_from_command_line
    from django.utils import translation

    from kamerplanter.runtime.account import postgres_programs
    from kamerplanter.runtime.embedded import provided_services, say
    from kamerplanter.runtime.errors import RuntimeProblem
    from kamerplanter.runtime.home import Home

    command = next((argument for argument in sys.argv[1:] if not argument.startswith("-")), "")
    if command in ALONE or {"--help", "-h", "--version"} & set(sys.argv[1:]):
        execute_from_command_line(sys.argv)
        return
    try:
        # `dbshell` finds its program there where the machine has none.
        os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), str(postgres_programs())])
        with provided_services(Home.open(), up_to_date=command not in AS_IT_IS):
            django.setup()
            # The commands' own words are English, so what the product says through them is too.
            translation.activate("en")
            execute_from_command_line(sys.argv)
    except RuntimeProblem as reason:
        say(str(reason))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
