"""Users, tenants and memberships in the admin.

Users are the platform staff's alone. A tenant's admins see their own tenant, and who is what in it.
"""

from typing import Any

from axes.models import AccessAttempt, AccessFailureLog, AccessLog
from django import forms
from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django_celery_beat.models import (
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
)
from unfold.admin import ModelAdmin, TabularInline
from unfold.forms import (
    AdminPasswordChangeForm,
    PaginationInlineFormSet,
    UserChangeForm,
    UserCreationForm,
)
from unfold.widgets import UnfoldAdminTextInputWidget

from accounts.models import Membership, Tenant, User
from accounts.permissions import is_platform_staff, tenants_of

# Roles are memberships here, the schedule is in the settings, and lockouts end on their own.
for model in (
    Group,
    AccessAttempt,
    AccessFailureLog,
    AccessLog,
    ClockedSchedule,
    CrontabSchedule,
    IntervalSchedule,
    PeriodicTask,
    SolarSchedule,
):
    if admin.site.is_registered(model):
        admin.site.unregister(model)


@admin.register(User)
class UserAdmin(DjangoUserAdmin, ModelAdmin):  # type: ignore[misc, type-arg]
    """People who log in; for the platform's staff."""

    form = UserChangeForm
    add_form = UserCreationForm
    change_password_form = AdminPasswordChangeForm
    list_display = ["username", "email", "is_active", "is_superuser", "last_login"]
    list_filter = ["is_active", "is_superuser"]
    readonly_fields = ["last_login", "date_joined"]
    fieldsets = [
        (None, {"fields": ["username", "password"]}),
        (_("Person"), {"fields": ["first_name", "last_name", "email"]}),
        (_("Platform"), {"fields": ["is_active", "is_superuser"]}),
        (_("Dates"), {"fields": ["last_login", "date_joined"]}),
    ]
    filter_horizontal = []

    def has_module_permission(self, request: HttpRequest) -> bool:
        return is_platform_staff(request.user)

    def has_view_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return is_platform_staff(request.user)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_platform_staff(request.user)

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return is_platform_staff(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        """Nobody deletes their own account in here and locks themselves out."""
        return is_platform_staff(request.user) and (obj is None or obj.pk != request.user.pk)


class MembershipForm(forms.ModelForm[Membership]):
    """A membership; the person is named by user name, so that nobody is offered a list of all users."""

    username = forms.CharField(label=_("user name"), max_length=150, widget=UnfoldAdminTextInputWidget)

    class Meta:
        model = Membership
        fields = ["role", "level", "language"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.fields["username"].initial = self.instance.user.username
            self.fields["username"].disabled = True

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"]
        if not self.instance.pk:
            user = User.objects.filter(username__iexact=name).first()
            if user is None:
                raise forms.ValidationError(
                    _("There is no user of this name. Ask the platform's staff to add one.")
                )
            if Membership.objects.filter(tenant_id=self.instance.tenant_id, user=user).exists():
                raise forms.ValidationError(_("This person is a member already."))
            self.instance.user = user
        return name


class MembershipFormSet(PaginationInlineFormSet):
    """A tenant's members on its page; nobody is named twice among the new ones."""

    def clean(self) -> None:
        super().clean()
        named: set[int] = set()
        for form in self.extra_forms:
            user_id = form.instance.user_id
            if user_id in named:
                form.add_error("username", _("This person is in the list already."))
            elif user_id is not None:
                named.add(user_id)


class MembershipInline(TabularInline):
    model = Membership
    form = MembershipForm
    formset = MembershipFormSet
    fields = ["username", "role", "level", "language"]
    extra = 0

    def get_queryset(self, request: HttpRequest) -> QuerySet[Membership]:
        return super().get_queryset(request).select_related("user", "tenant").order_by("user__username")

    def _governs(self, request: HttpRequest, tenant: Tenant | None) -> bool:
        """Whether the person governs the tenant; without one, whether they govern any."""
        governed = tenants_of(request.user, roles=(Membership.Role.ADMIN,))
        if tenant is None:
            return is_platform_staff(request.user) or governed.exists()
        return governed.filter(pk=tenant.pk).exists()

    def has_view_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        return self._governs(request, obj)

    def has_add_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        return self._governs(request, obj)

    def has_change_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        return self._governs(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        return self._governs(request, obj)


@admin.register(Tenant)
class TenantAdmin(ModelAdmin):
    """Tenants, with their members."""

    list_display = ["name", "slug", "member_count", "created_at"]
    search_fields = ["name", "slug"]
    inlines = [MembershipInline]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Tenant]:
        governed = tenants_of(request.user, roles=(Membership.Role.ADMIN,))
        return governed.annotate(member_count=Count("memberships"))

    @admin.display(description=_("members"), ordering="member_count")
    def member_count(self, tenant: Any) -> int:
        return int(tenant.member_count)

    def get_readonly_fields(self, request: HttpRequest, obj: Tenant | None = None) -> list[str]:
        """The short name enters the derived ids of the tenant's index, so it stays as it was made."""
        if not is_platform_staff(request.user):
            return ["name", "slug"]
        return ["slug"] if obj else []

    def has_module_permission(self, request: HttpRequest) -> bool:
        return tenants_of(request.user, roles=(Membership.Role.ADMIN,)).exists()

    def has_view_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        governed = tenants_of(request.user, roles=(Membership.Role.ADMIN,))
        return governed.exists() if obj is None else governed.filter(pk=obj.pk).exists()

    def has_change_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        return self.has_view_permission(request, obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return is_platform_staff(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: Tenant | None = None) -> bool:
        """A tenant's knowledge has a history that deletion must not tear holes into."""
        return False
