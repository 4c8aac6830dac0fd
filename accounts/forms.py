"""What a person may change about themselves."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from accounts.models import Membership


class PreferencesForm(forms.ModelForm[Membership]):
    """Language and experience level, kept with the membership."""

    class Meta:
        model = Membership
        fields = ["language", "level"]
        widgets = {"language": forms.RadioSelect, "level": forms.RadioSelect}
        labels = {"language": _("Language"), "level": _("Experience")}


class MembershipField(forms.ModelChoiceField[Membership]):
    """Memberships by the tenant's name and one's role there."""

    def label_from_instance(self, obj: Membership) -> str:
        return f"{obj.tenant.name} · {obj.get_role_display()}"


class TenantForm(forms.Form):
    """Which of one's memberships to act through."""

    membership = MembershipField(
        queryset=Membership.objects.none(), widget=forms.RadioSelect, empty_label=None, label=_("Tenant")
    )

    def __init__(self, *args: Any, user_id: int, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["membership"]
        assert isinstance(field, MembershipField)
        field.queryset = (
            Membership.objects.filter(user_id=user_id).select_related("tenant").order_by("tenant__name")
        )
