"""People and what they may do."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.db import models


class Role(models.TextChoices):
    """What a person may do, each role more than the one before."""

    VIEWER = "viewer", "Viewer"
    OPERATOR = "operator", "Operator"
    ADMIN = "admin", "Admin"


class User(AbstractUser):
    """A person with an account; `role` decides, see `console.frame.access`."""

    role = models.CharField(max_length=10, choices=Role, default=Role.VIEWER)

    class Meta(AbstractUser.Meta):
        pass
