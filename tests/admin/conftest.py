"""Two tenants that must not see each other, and people who enter the cockpit."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from django.test import Client

from accounts.models import Tenant, User
from knowledge.models import Document, IndexVersion, IngestJob
from knowledge.scopes import scope_of

SECRET = "Fliederbeersirup"


@pytest.fixture
def enter() -> Callable[[User], Client]:
    """enter(user) -> a browser in which the user is logged in."""

    def logged_in(user: User) -> Client:
        client = Client(headers={"accept-language": "en"}, raise_request_exception=False)
        client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
        return client

    return logged_in


@pytest.fixture
def editor(tenant, make_user, enter: Callable[[User], Client]) -> Client:
    return enter(make_user("edith", tenant, "editor"))


@pytest.fixture
def staff(make_staff, enter: Callable[[User], Client]) -> Client:
    return enter(make_staff("stella"))


class Foreign(NamedTuple):
    """What another tenant has: nobody else may come across any of it. Its names all hold SECRET."""

    tenant: Tenant
    user: User
    document: Document
    job: IngestJob
    index_version: IndexVersion


@pytest.fixture
def foreign(make_user, upload, run_jobs) -> Foreign:
    tenant = Tenant.objects.create(slug="hinterhof", name=f"Hof {SECRET}")
    user = make_user(f"ute-{SECRET}", tenant, "admin")
    accepted = upload(
        f"{SECRET}.md",
        f"# {SECRET} kochen\n\nEine Handvoll {SECRET} in den Topf geben und lange kochen.\n",
        scope=scope_of(tenant),
        note=f"Rezept {SECRET}",
    )
    run_jobs()
    document = Document.objects.get(pk=accepted.document.pk)
    return Foreign(
        tenant,
        user,
        document,
        document.jobs.get(),
        IndexVersion.objects.get(scope=document.scope),
    )
