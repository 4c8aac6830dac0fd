"""Logging in and out, the language, and what a person sets for themselves."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import check_for_language, gettext, override
from django.views.decorators.http import require_http_methods, require_POST

from accounts.forms import PreferencesForm, TenantForm
from accounts.membership import SESSION_KEY, current_membership
from accounts.models import Membership, User

_A_YEAR_S = 365 * 24 * 3600


class Login(LoginView):
    """Logs in, and goes on in the language of the person's membership."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        response = super().form_valid(form)
        membership = current_membership(user=form.get_user(), session=self.request.session)
        if membership is not None:
            remember_language(response, membership.language)
        return response


class PasswordChange(PasswordChangeView):
    """Changes one's own password; the other sessions end with the old one."""

    template_name = "accounts/password.html"
    success_url = reverse_lazy("settings")

    def form_valid(self, form: Any) -> HttpResponse:
        messages.success(self.request, gettext("Your password has been changed."))
        return super().form_valid(form)


def locked_out(request: HttpRequest, *_args: Any, **_kwargs: Any) -> HttpResponse:
    """What django-axes answers after too many wrong passwords (settings.AXES_LOCKOUT_CALLABLE)."""
    minutes = round(float(settings.AXES_COOLOFF_TIME) * 60)
    return render(request, "accounts/locked_out.html", {"minutes": minutes}, status=429)


@require_POST
def switch_language(request: HttpRequest) -> HttpResponse:
    """Go on in another language, and keep it with the membership of who is logged in."""
    response = redirect(_next_or(request, "home"))
    language = request.POST.get("language", "")
    if language in dict(settings.LANGUAGES) and check_for_language(language):
        remember_language(response, language)
        membership = current_membership(user=request.user, session=request.session)
        if membership is not None:
            Membership.objects.filter(pk=membership.pk).update(language=language)
    return response


@login_required
@require_http_methods(["GET", "POST"])
def preferences(request: HttpRequest) -> HttpResponse:
    """Language and experience level of the current membership."""
    membership = current_membership(user=request.user, session=request.session)
    form = PreferencesForm(request.POST or None, instance=membership) if membership else None
    if request.method == "POST" and form is not None and form.is_valid():
        saved = form.save()
        response = redirect("settings")
        remember_language(response, saved.language)
        with override(saved.language):
            messages.success(request, gettext("Your settings have been saved."))
        return response
    return render(request, "accounts/settings.html", _settings_context(request, membership, form))


@login_required
@require_POST
def switch_tenant(request: HttpRequest) -> HttpResponse:
    """Act through another of one's memberships, in its language."""
    assert isinstance(request.user, User)
    form = TenantForm(request.POST, user_id=request.user.pk)
    if not form.is_valid():
        membership = current_membership(user=request.user, session=request.session)
        own = PreferencesForm(instance=membership) if membership else None
        return render(
            request,
            "accounts/settings.html",
            _settings_context(request, membership, own) | {"tenant_form": form},
            status=422,
        )
    chosen: Membership = form.cleaned_data["membership"]
    request.session[SESSION_KEY] = chosen.tenant_id
    response = redirect("settings")
    remember_language(response, chosen.language)
    with override(chosen.language):
        messages.success(request, gettext("You now ask for %(tenant)s.") % {"tenant": chosen.tenant.name})
    return response


def remember_language(response: HttpResponse, language: str) -> None:
    """Have further pages in this language."""
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=_A_YEAR_S,
        path=settings.LANGUAGE_COOKIE_PATH,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _settings_context(
    request: HttpRequest, membership: Membership | None, form: PreferencesForm | None
) -> dict[str, Any]:
    assert isinstance(request.user, User)
    tenant_form = TenantForm(user_id=request.user.pk, initial={"membership": membership})
    has_choice = Membership.objects.filter(user_id=request.user.pk).count() > 1
    return {"membership": membership, "form": form, "tenant_form": tenant_form if has_choice else None}


def _next_or(request: HttpRequest, default: str) -> str:
    """The address the person came from, if it is one of ours."""
    target = request.POST.get("next", "")
    if url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return target
    return default
