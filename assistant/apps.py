from django.apps import AppConfig
from django.core import checks
from django.utils.translation import gettext_lazy as _

from assistant.checks import check_providers


class AssistantConfig(AppConfig):
    name = "assistant"
    verbose_name = _("Assistant")

    def ready(self) -> None:
        checks.register(check_providers)
