"""The Celery application; `celery -A kamerplanter worker|beat`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kamerplanter.settings")

app = Celery("kamerplanter")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
