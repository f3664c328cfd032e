"""Signing in: by name and password, by OpenID Connect, by a service token; and how long it lasts.

In reading order: `oidc`, `oidc_pages`, `lockout`, `sessions`, `authentication`, `checks`.
"""
