from django.apps import AppConfig

# The module, not the class: an AdminConfig of that name in here would count as one of this app's own.
from django.contrib.admin import apps as admin_apps
from django.utils.translation import gettext_lazy as _


class AccountsConfig(AppConfig):
    name = "accounts"
    default = True
    verbose_name = _("People")


class CockpitConfig(admin_apps.AdminConfig):
    """django.contrib.admin, with our own site in place of the default one."""

    default = False
    default_site = "accounts.cockpit.Cockpit"
