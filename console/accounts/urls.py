"""Addresses of the accounts room."""

from django.urls import path

from console.accounts import own_pages, pages
from console.accounts.sign_in import oidc_pages

app_name = "accounts"
urlpatterns = [
    path("login/oidc/", oidc_pages.begin, name="oidc"),
    path("login/oidc/back/", oidc_pages.come_back, name="oidc-back"),
    path("account/password/", own_pages.ChangePassword.as_view(), name="password"),
    path("account/tokens/", own_pages.tokens_page, name="tokens"),
    path("account/tokens/<int:token_id>/revoke/", own_pages.revoke_token, name="revoke-token"),
    path("people/", pages.people_page, name="people"),
    path("people/new/", pages.new_person_page, name="new-person"),
    path("people/<int:person_id>/", pages.person_page, name="person"),
    path("people/<int:person_id>/grant/", pages.grant, name="grant"),
    path("people/<int:person_id>/active/", pages.set_active, name="set-active"),
    path("people/<int:person_id>/reset-password/", pages.reset_password, name="reset-password"),
    path("people/<int:person_id>/unlock/", pages.unlock, name="unlock"),
    path("audit/", pages.audit_page, name="audit"),
]
