"""Users and tenants in the admin, and the languages of its pages."""

import re

import pytest
from django.urls import reverse

from accounts.models import Membership, Tenant, User


def member_form(tenant: Tenant, *new: dict[str, str], **changes: str) -> dict[str, str]:
    """The fields of a tenant's page as the browser sends them, with new members and changed fields."""
    known = list(tenant.memberships.order_by("user__username"))
    values = {
        "name": tenant.name,
        "memberships-TOTAL_FORMS": str(len(known) + len(new)),
        "memberships-INITIAL_FORMS": str(len(known)),
    }
    for position, membership in enumerate(known):
        values |= {
            f"memberships-{position}-id": str(membership.pk),
            f"memberships-{position}-tenant": str(tenant.pk),
            f"memberships-{position}-role": membership.role,
            f"memberships-{position}-level": membership.level,
            f"memberships-{position}-language": membership.language,
        }
    for position, member in enumerate(new, start=len(known)):
        values |= {f"memberships-{position}-{key}": value for key, value in member.items()}
        values[f"memberships-{position}-tenant"] = str(tenant.pk)
    return values | changes


MEMBER = {"role": "editor", "level": "expert", "language": "en"}


def test_a_tenants_admin_adds_members_by_name_and_changes_roles(tenant, make_user, enter):
    client = enter(make_user("adam", tenant, "admin"))
    make_user("Nora")
    address = f"/admin/accounts/tenant/{tenant.pk}/change/"
    client.post(address, member_form(tenant, {**MEMBER, "username": "nora"}))
    nora = Membership.objects.get(tenant=tenant, user__username="Nora")
    assert nora.role == "editor"
    client.post(address, member_form(tenant, **{"memberships-0-role": "viewer"}))
    assert Membership.objects.filter(tenant=tenant, role="viewer").exists()


@pytest.mark.parametrize(
    ("name", "sentence"), [("nobody", "There is no user of this name"), ("adam", "a member already")]
)
def test_a_name_that_cannot_be_added_is_said(tenant, make_user, enter, name, sentence):
    client = enter(make_user("adam", tenant, "admin"))
    answer = client.post(
        f"/admin/accounts/tenant/{tenant.pk}/change/", member_form(tenant, {**MEMBER, "username": name})
    )
    assert sentence in answer.text
    assert tenant.memberships.count() == 1


def test_the_same_name_twice_in_one_form_is_said_and_not_a_crash(tenant, make_user, enter):
    client = enter(make_user("adam", tenant, "admin"))
    make_user("nora")
    twice = [{**MEMBER, "username": "nora"}, {**MEMBER, "username": "nora"}]
    answer = client.post(f"/admin/accounts/tenant/{tenant.pk}/change/", member_form(tenant, *twice))
    assert answer.status_code == 200
    assert "This person is in the list already." in answer.text
    assert tenant.memberships.count() == 1


def test_a_tenants_admin_changes_nothing_else_of_it(tenant, make_user, enter):
    client = enter(make_user("adam", tenant, "admin"))
    address = f"/admin/accounts/tenant/{tenant.pk}/change/"
    client.post(address, member_form(tenant, name="Anders", slug="anders"))
    tenant.refresh_from_db()
    assert (tenant.name, tenant.slug) == ("Garten am Hang", "garten")
    assert client.get("/admin/accounts/tenant/add/").status_code == 403
    assert client.post(f"/admin/accounts/tenant/{tenant.pk}/delete/", {"post": "yes"}).status_code == 403


def test_staff_adds_users_and_tenants(staff):
    answer = staff.post(
        "/admin/accounts/user/add/",
        {
            "username": "nora",
            "usable_password": "true",
            "password1": "rosen im winter",
            "password2": "rosen im winter",
        },
    )
    assert answer.status_code == 302, re.findall(r"errorlist.*?</", answer.text)
    assert User.objects.get(username="nora").check_password("rosen im winter")
    answer = staff.post(
        "/admin/accounts/tenant/add/",
        {
            "name": "Neu",
            "slug": "neu",
            "memberships-TOTAL_FORMS": "1",
            "memberships-INITIAL_FORMS": "0",
            **{f"memberships-0-{key}": value for key, value in {**MEMBER, "username": "nora"}.items()},
        },
    )
    assert answer.status_code == 302
    assert Tenant.objects.get(slug="neu").memberships.get().user.username == "nora"


def test_nobody_deletes_their_own_account(staff):
    own = User.objects.get(username="stella")
    assert staff.post(f"/admin/accounts/user/{own.pk}/delete/", {"post": "yes"}).status_code == 403
    assert User.objects.filter(username="stella").exists()


def test_the_language_is_switched_on_any_page_of_the_cockpit(editor):
    page = editor.get("/admin/knowledge/document/")
    assert f'action="{reverse("set_language")}"' in page.text
    answer = editor.post(
        reverse("set_language"), {"language": "de", "next": "/admin/knowledge/document/"}, follow=True
    )
    assert answer.status_code == 200
    assert "Dokumente" in answer.text
    assert 'lang="de"' in answer.text


@pytest.mark.parametrize(
    "address",
    [
        "/admin/",
        "/admin/knowledge/document/",
        "/admin/knowledge/document/add/",
        "/admin/knowledge/ingestjob/",
        "/admin/knowledge/indexversion/",
        "/admin/accounts/tenant/",
        "/admin/accounts/user/",
    ],
)
def test_german_pages_are_german(staff, address):
    """No sentence of ours is left in English: those of the English page that have a translation are gone."""
    english = staff.get(address).text
    staff.cookies["django_language"] = "de"
    german = staff.get(address).text
    for sentence in (
        "Overview",
        "Index versions",
        "Knowledge cockpit",
        "Type to search",
        "Filters",
        "Upload",
    ):
        if f">{sentence}<" in english:
            assert f">{sentence}<" not in german, sentence
