"""Pages of the signed-in user: sign-in, password, tokens."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import views
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.forms import BaseForm
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse_lazy
from django.views.decorators.http import require_http_methods, require_POST

from console.accounts import actions, queries, tokens
from console.accounts.audit import audit
from console.accounts.forms import TokenForm
from console.accounts.models import User
from console.accounts.tables import TOKENS
from console.accounts.tokens import after_showing, redirect_with, take_secret
from console.frame.errors import ActionRefused, or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import page
from jobs.cluster.errors import InvalidFields


class SignIn(views.LoginView):
    """The login page; Django rotates the session's key and the CSRF token on success."""

    http_method_names = ["get", "head", "post", "options"]
    redirect_authenticated_user = True
    extra_context = {
        "oidc_label": settings.OIDC_LABEL if settings.OIDC_ISSUER else "",
    }

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Sign in and write it."""
        response = super().form_valid(form)
        person = form.get_user()
        if isinstance(person, User):
            audit("sign-in", actions.subject_of(person), by=person)
        return response


class SignOut(views.LogoutView):
    """The end of a session."""

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Write it and sign out."""
        if isinstance(request.user, User) or request.user.is_authenticated:
            audit("sign-out", f"person:{request.user.get_username()}")
        return super().post(request, *args, **kwargs)


class ChangePassword(views.PasswordChangeView):
    """Change of the password; after a one-time password, every page leads here first."""

    http_method_names = ["get", "head", "post", "options"]
    template_name = "accounts/password.html"
    success_url = reverse_lazy("accounts:password")

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """Refuse people who have no password here."""
        if getattr(request.user, "identity", None):
            raise Http404
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: BaseForm) -> HttpResponse:
        """Set it; the other sessions of this person end."""
        assert isinstance(form, PasswordChangeForm)  # noqa: S101  the class of the view's form
        password = form.cleaned_data["new_password1"]
        try:
            actions.change_own_password(self.request, form.user, password)
        except ActionRefused as refusal:
            form.add_error(None, refusal.message)
            return self.form_invalid(form)
        messages.success(self.request, "Your password was changed. Your other sessions ended.")
        return redirect(self.get_success_url())


@require_http_methods(["GET", "HEAD", "POST"])
@page("own")
def tokens_page(request: HttpRequest) -> HttpResponseBase:
    """Show the tokens of the user (of all users for an administrator); a POST creates one."""
    user: Any = request.user
    form = TokenForm(queries.list_aliases(user), request.POST or None)
    created = _try_create(form, user) if request.method == "POST" and form.is_valid() else ""
    if created:
        return redirect_with(request, created, request.path)
    table = TOKENS.read(request, queries.list_tokens(user), "tokens")
    context = {
        "table": table,
        "form": form,
        "secret": take_secret(request),
        "most_days": settings.TOKEN_DAYS,
    }
    return after_showing(request, render_page(request, "accounts/tokens.html", context))


@require_POST
@page("own")
def revoke_token(request: HttpRequest, token_id: int) -> HttpResponse:
    user: Any = request.user
    token = or_404(queries.get_token(user, token_id))
    attempt(request, lambda: tokens.revoke_token(token), f"Token {token.name} revoked.")
    return redirect("accounts:tokens")


def _try_create(form: TokenForm, owner: User) -> str:
    try:
        return tokens.create_token(form.cleaned_data, owner)[1]
    except InvalidFields as invalid:
        form.take_errors(invalid.errors)
    except ActionRefused as refusal:
        form.add_error(None, refusal.message)
    return ""
