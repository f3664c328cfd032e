"""What the frame keeps: the answers of requests that must not be done twice."""

from __future__ import annotations

from django.db import models


class IdempotencyKey(models.Model):
    """A POST that a caller named with a key of its own, and the answer that it got.

    `caller` is `user:12` or `token:7`; `request_hash` covers method, path and body. `status` and
    `body` are null while the request is being done; `body` stays null when the answer held a secret.
    """

    caller = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    route = models.CharField(max_length=500)
    request_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_index=True)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    body = models.TextField(null=True, blank=True)  # noqa: DJ001  null is another thing than an empty answer

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["caller", "key"], name="one_request_per_key")
        ]

    def __str__(self) -> str:
        return f"{self.caller} {self.route}"
