"""Running on one machine: the environment, the embedded services, and the supervisor behind `./run`.

bootstrap.py     makes the virtual environment, in any Python; standard library alone
home.py          KAMERPLANTER_HOME: where what lies, secrets, state, locks
account.py       which user PostgreSQL and Valkey run as when root starts them, and where they may lie
postgres.py      the embedded PostgreSQL        valkey.py       the embedded Valkey
processes.py     one child process: start, watch, stop
embedded.py      both services for a command's duration; `manage.py` uses it
supervisor.py    `./run`                        prepare.py      migrations, sample base, first admin
checks.py        `./test`
"""
