"""Who enters the cockpit, and that nobody sees there what is another tenant's."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin
from django.core.exceptions import ViewDoesNotExist
from django.urls import NoReverseMatch, URLPattern, URLResolver, reverse

from accounts.models import Membership
from knowledge.models import DocumentVersion, IngestJob
from knowledge.scopes import scope_of
from tests.admin.conftest import SECRET


@pytest.mark.parametrize("role", ["viewer", "grower"])
def test_those_who_only_read_stay_outside_and_are_told_why(role, tenant, make_user, enter):
    client = enter(make_user("vera", tenant, role))
    answer = client.get("/admin/", follow=True)
    assert answer.status_code == 403
    assert "The cockpit is for editors and admins of a tenant" in answer.text
    assert client.get("/admin/knowledge/document/").status_code == 302


@pytest.mark.parametrize("role", ["editor", "admin"])
def test_editors_and_admins_of_a_tenant_enter_without_being_staff(role, tenant, make_user, enter):
    client = enter(make_user("edith", tenant, role))
    assert client.get("/admin/").status_code == 200
    assert client.get("/admin/knowledge/document/").status_code == 200


def test_being_staff_alone_opens_nothing(make_user, enter):
    assert enter(make_user("stan", is_staff=True)).get("/admin/", follow=True).status_code == 403


def test_the_unknown_are_led_to_the_login_and_back(client):
    answer = client.get("/admin/knowledge/document/", follow=True)
    assert answer.redirect_chain[-1][0] == f"{reverse('login')}?next=/admin/knowledge/document/"
    elsewhere = client.get("/admin/login/?next=https://example.org/", follow=True)
    assert elsewhere.redirect_chain[-1][0] == f"{reverse('login')}?next=/admin/"


def test_someone_locked_out_of_their_account_is_out_of_the_cockpit(tenant, make_user, enter):
    user = make_user("edith", tenant, "editor")
    client = enter(user)
    user.is_active = False
    user.save()
    assert client.get("/admin/").status_code == 302


def routes(patterns: list[Any]) -> Iterator[URLPattern]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns)
        else:
            yield pattern


def admin_addresses(identities: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Every address of the admin, with the ids of the objects of each model (by its route's name)."""
    for pattern in routes(admin.site.get_urls()):
        name = pattern.name
        if name in {"logout", "password_change", "jsi18n"}:
            continue
        if name is None:  # a bare id, for old links; leads to change
            continue
        model = next((key for key in identities if name.startswith(key)), "")
        values = {**identities[""], **identities[model]}
        arguments = {key: values[key] for key in pattern.pattern.regex.groupindex if key in values}
        try:
            yield reverse(f"admin:{name}", kwargs=arguments)
        except (NoReverseMatch, ViewDoesNotExist) as problem:
            raise AssertionError(f"give the walk a value for {name}: {pattern.pattern}") from problem


def identities_of(foreign) -> dict[str, dict[str, Any]]:
    return {
        "knowledge_document": {"document_id": foreign.document.pk, "object_id": foreign.document.pk},
        "knowledge_ingestjob": {"job_id": foreign.job.pk, "object_id": foreign.job.pk},
        "knowledge_indexversion": {
            "object_id": foreign.index_version.pk,
            "version_id": foreign.index_version.pk,
            "scope_id": foreign.document.scope_id,
        },
        "accounts_tenant": {"object_id": foreign.tenant.pk},
        "accounts_user": {"object_id": foreign.user.pk, "id": foreign.user.pk},
        "auth_user": {"id": foreign.user.pk},
        "app_list": {"app_label": "knowledge"},
        "": {
            "number": 1,
            "batch": "0" * 32,
            "app_label": "knowledge",
            "content_type_id": 1,
            "object_id": foreign.document.pk,
        },
    }


def test_no_address_of_the_admin_shows_or_changes_what_is_foreign(
    foreign, tenant, make_user, enter, upload, run_jobs
):
    """The tenant's admin, who may do most, tries every address with the other tenant's ids."""
    upload("eigenes.md", "# Eigenes\n\nHier gießen wir selbst.\n", scope=scope_of(tenant))
    run_jobs()
    client = enter(make_user("adam", tenant, "admin"))
    addresses = list(admin_addresses(identities_of(foreign)))
    assert len(addresses) > 25
    for address, method in itertools.product(addresses, ("get", "post")):
        data = {"reason": "x", "ids": foreign.job.pk, "scope": foreign.document.scope_id, "post": "yes"}
        answer = getattr(client, method)(address, data, follow=True)
        assert answer.status_code < 500, (method, address)
        body = b"".join(answer.streaming_content) if answer.streaming else answer.content
        assert SECRET.encode() not in body, (method, address)
    assert not IngestJob.objects.filter(scope=foreign.document.scope).exclude(pk=foreign.job.pk).exists()
    assert DocumentVersion.objects.filter(document__scope=foreign.document.scope).count() == 1
    assert Membership.objects.filter(tenant=foreign.tenant).count() == 1


def test_the_same_addresses_show_it_to_those_it_belongs_to(foreign, enter):
    """What keeps the walk above honest: the addresses do lead to something."""
    client = enter(foreign.user)
    shown = [
        address
        for address in admin_addresses(identities_of(foreign))
        if SECRET.encode() in b"".join(client.get(address))
    ]
    assert len(shown) >= 12, shown


def test_filters_searches_and_live_states_leave_the_foreign_out(foreign, editor):
    scope = foreign.document.scope_id
    for address in (
        f"/admin/knowledge/document/?scope={scope}",
        f"/admin/knowledge/document/?q={SECRET}",
        f"/admin/knowledge/ingestjob/?scope={scope}",
        f"/admin/knowledge/ingestjob/?q={SECRET}",
        f"/admin/knowledge/indexversion/?scope={scope}",
        f"/admin/knowledge/indexversion/?q={foreign.index_version.root_hash}",
    ):
        answer = editor.get(address)
        assert answer.status_code == 200, address
        rows = answer.context["cl"].result_list
        assert len(rows) == 0, address
    live = editor.get(f"/admin/knowledge/ingestjob/live/?ids={foreign.job.pk}")
    assert live.json() == {"jobs": {}}


def test_global_documents_are_the_staffs_to_look_after(editor, staff, upload, run_jobs):
    document = upload("gemeinsam.md", "# Gemeinsam\n\nFür alle.\n").document
    run_jobs()
    address = f"/admin/knowledge/document/{document.pk}/change/"
    assert editor.get(address).status_code == 404
    assert staff.get(address).status_code == 200


@pytest.mark.parametrize(
    "address",
    [
        "/admin/knowledge/document/999999999999999999999/change/",
        "/admin/knowledge/document/abc/change/",
        "/admin/knowledge/document/1%00/change/",
        "/admin/knowledge/document/?standing=unheard-of",
        "/admin/knowledge/document/?scope=abc",
        "/admin/knowledge/document/?q=%00",
        "/admin/knowledge/document/?p=-3",
        "/admin/knowledge/document/?scope__tenant__name=x",
        "/admin/knowledge/document/add/results/nothing/",
        "/admin/knowledge/ingestjob/live/?ids=1,x,,-4,99999999999999999999999,²",
        "/admin/knowledge/ingestjob/?state__exact=%00",
        "/admin/knowledge/ingestjob/?state__exact=SOMETIMES",
        "/admin/knowledge/indexversion/reindex/999999999999999999999/",
        "/admin/knowledge/indexversion/0/change/",
        "/admin/search/?s=a&page=x",
        "/admin/nowhere/",
    ],
)
def test_bad_addresses_get_a_proper_page(staff, address):
    assert staff.get(address, follow=True).status_code in {200, 400, 404}


def test_only_a_post_changes_anything(staff, upload):
    accepted = upload("a.md", "# A\n\nText.\n")
    for address in (
        f"/admin/knowledge/document/{accepted.document.pk}/versions/1/activate/",
        f"/admin/knowledge/document/{accepted.document.pk}/upload/",
        f"/admin/knowledge/ingestjob/{accepted.job.pk}/cancel/",
        f"/admin/knowledge/ingestjob/{accepted.job.pk}/retry/",
    ):
        assert staff.get(address).status_code == 405
    assert IngestJob.objects.get().state == IngestJob.State.QUEUED


def test_a_form_without_its_token_is_refused_with_a_page(make_staff):
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(make_staff("stella"), backend="django.contrib.auth.backends.ModelBackend")
    answer = client.post("/admin/knowledge/document/add/", {})
    assert answer.status_code == 403
    assert "<html" in answer.text
