"""Who may do what: users, tenants, and what a user is in a tenant."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.db.models.functions import Lower
from django.utils.translation import gettext_lazy as _


class User(AbstractUser):
    """A person who logs in. `is_staff` with `is_superuser` is the platform's staff.

    Editors and admins of a tenant reach the admin too; what they see there is their tenants' only.
    """

    class Meta(AbstractUser.Meta):
        constraints = [
            models.UniqueConstraint(Lower("username"), name="user_username_unique_whatever_the_case"),
        ]


class Tenant(models.Model):
    """A garden, household or organisation whose documents and conversations are its own."""

    slug = models.SlugField(_("short name"), max_length=50, unique=True)
    name = models.CharField(_("name"), max_length=120)
    created_at = models.DateTimeField(_("created"), auto_now_add=True)

    class Meta:
        verbose_name = _("tenant")
        verbose_name_plural = _("tenants")
        ordering = ["name"]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(slug__regex=r"^[a-z0-9][a-z0-9-]*$"),
                name="tenant_slug_lower_case",
                violation_error_message=_("Use lower-case letters, digits and hyphens only."),
            ),
        ]

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """What a user is in a tenant."""

    class Role(models.TextChoices):
        VIEWER = "viewer", _("viewer")
        GROWER = "grower", _("grower")
        EDITOR = "editor", _("editor")
        ADMIN = "admin", _("admin")

    class Level(models.TextChoices):
        BEGINNER = "beginner", _("beginner")
        INTERMEDIATE = "intermediate", _("intermediate")
        EXPERT = "expert", _("expert")

    class Language(models.TextChoices):
        DE = "de", "Deutsch"
        EN = "en", "English"

    user = models.ForeignKey(
        User, on_delete=models.CASCADE, related_name="memberships", verbose_name=_("user")
    )
    tenant = models.ForeignKey(
        Tenant, on_delete=models.CASCADE, related_name="memberships", verbose_name=_("tenant")
    )
    role = models.CharField(_("role"), max_length=10, choices=Role.choices, default=Role.VIEWER)
    level = models.CharField(
        _("experience level"), max_length=12, choices=Level.choices, default=Level.BEGINNER
    )
    language = models.CharField(_("language"), max_length=2, choices=Language.choices, default=Language.DE)

    class Meta:
        verbose_name = _("membership")
        verbose_name_plural = _("memberships")
        constraints = [
            models.UniqueConstraint(fields=["user", "tenant"], name="membership_once_per_tenant"),
            models.CheckConstraint(
                condition=models.Q(role__in=["viewer", "grower", "editor", "admin"]),
                name="membership_role_known",
            ),
            models.CheckConstraint(
                condition=models.Q(level__in=["beginner", "intermediate", "expert"]),
                name="membership_level_known",
            ),
            models.CheckConstraint(
                condition=models.Q(language__in=["de", "en"]), name="membership_language_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} · {self.tenant} · {self.get_role_display()}"
