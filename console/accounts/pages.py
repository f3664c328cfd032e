"""Pages of users and of the audit log, for administrators."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from console.accounts import actions, queries
from console.accounts.forms import GrantForm, PersonForm, RoleForm
from console.accounts.models import User
from console.accounts.queries import names_of
from console.accounts.tables import ENTRIES, PEOPLE
from console.accounts.tokens import after_showing, redirect_with, take_secret
from console.frame.errors import ActionRefused, or_404
from console.frame.pages.forms import attempt
from console.frame.pages.render import render_page
from console.frame.security.access import page
from jobs.cluster.errors import InvalidFields


@require_safe
@page("administer")
def people_page(request: HttpRequest) -> HttpResponseBase:
    """Show all users."""
    table = PEOPLE.read(request, queries.list_people(), "people")
    queries.with_locks(table.rows, timezone.now())
    return render_page(request, "accounts/people.html", {"table": table})


@require_http_methods(["GET", "HEAD", "POST"])
@page("administer")
def new_person_page(request: HttpRequest) -> HttpResponse:
    """Create a user; the next page shows the one-time password, once."""
    form = PersonForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            person, password = actions.create_person(form.cleaned_data)
            return redirect_with(request, password, reverse("accounts:person", args=[person.pk]))
        except InvalidFields as invalid:
            form.take_errors(invalid.errors)
        except ActionRefused as refusal:
            form.add_error(None, refusal.message)
    return render_page(request, "accounts/new_person.html", {"form": form})


@require_http_methods(["GET", "HEAD", "POST"])
@page("administer")
def person_page(request: HttpRequest, person_id: int) -> HttpResponse:
    """Show one account; a POST changes its role."""
    person = _get(person_id)
    form = RoleForm(request.POST or None, initial={"role": person.role})
    if request.method == "POST" and form.is_valid():
        try:
            actions.change_person(person, {"role": form.cleaned_data["role"]})
            messages.success(
                request, f"The role of {person.username} is now {form.cleaned_data['role']}."
            )
            return redirect("accounts:person", person_id)
        except ActionRefused as refusal:
            form.add_error("role", refusal.message)
    return _person(request, person, form)


@require_POST
@page("administer")
def grant(request: HttpRequest, person_id: int) -> HttpResponse:
    """Grant a role on one cluster, or remove it (an empty role)."""
    person = _get(person_id)
    alias, role = request.POST.get("cluster", ""), request.POST.get("role", "")
    attempt(request, lambda: actions.grant(person, alias, role))
    return redirect("accounts:person", person_id)


@require_POST
@page("administer")
def set_active(request: HttpRequest, person_id: int) -> HttpResponse:
    """Deactivate an account (its sessions and tokens end at once), or activate it."""
    person, is_active = _get(person_id), request.POST.get("is_active") == "true"
    word = "was activated" if is_active else "was deactivated: sessions and tokens ended"
    done = f"{person.username} {word}."
    attempt(request, lambda: actions.change_person(person, {"is_active": is_active}), done)
    return redirect("accounts:person", person_id)


@require_POST
@page("administer")
def reset_password(request: HttpRequest, person_id: int) -> HttpResponse:
    """Set a new one-time password, which the next page shows, once."""
    person = _get(person_id)
    try:
        password = actions.reset_password(person)
    except ActionRefused as refusal:
        messages.error(request, refusal.message)
        return redirect("accounts:person", person_id)
    return redirect_with(request, password, reverse("accounts:person", args=[person_id]))


@require_POST
@page("administer")
def unlock(request: HttpRequest, person_id: int) -> HttpResponse:
    """Unlock an account after too many failed sign-ins."""
    person = _get(person_id)
    done = f"The account of {person.username} was unlocked."
    attempt(request, lambda: actions.unlock_person(person), done)
    return redirect("accounts:person", person_id)


@require_safe
@page("administer")
def audit_page(request: HttpRequest) -> HttpResponseBase:
    """Show the audit log."""
    table = ENTRIES.read(request, queries.list_entries(), "audit-trail")
    names = names_of({entry.subject for entry in table.rows})
    for entry in table.rows:
        entry.subject_name = names[entry.subject]
    return render_page(request, "accounts/audit.html", {"table": table}, is_live=True)


def _get(person_id: int) -> User:
    return or_404(queries.get_person(pk=person_id))


def _person(request: HttpRequest, person: User, form: RoleForm) -> HttpResponse:
    # A failed try has changed the object: what is shown around the form is what is stored.
    person = queries.with_locks([_get(person.pk)], timezone.now())[0]
    context = {
        "person": person,
        "form": form,
        "grant_form": GrantForm(queries.list_aliases(request.user)),  # type: ignore[arg-type]  # signed in
        "tokens": queries.list_tokens_of(person).order_by("-created_at")[:50],
        "password": take_secret(request),
    }
    return after_showing(request, render_page(request, "accounts/person.html", context))
