"""A POST with an `Idempotency-Key` is done once, however often it is sent.

A claim is a row with a unique (caller, key): the database decides who does the work. Only answers
that say that something was done are kept; a refused request may be tried again with its key.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from datetime import timedelta
from hashlib import sha256
from typing import Any

from django.core.files.uploadedfile import UploadedFile
from django.db import IntegrityError, transaction
from django.utils import timezone
from rest_framework import exceptions, status
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from console.frame.models import IdempotencyKey
from console.frame.rest.throttling import caller_of

HEADER = "Idempotency-Key"
REPLAYED = "Idempotent-Replayed"
KEPT_FOR = timedelta(hours=24)
# Longer than any request lives: a claim without an answer is then one whose process died.
DEAD_AFTER = timedelta(minutes=2)
WAIT_S = 10.0
_POLL_S = 0.1
_KEY = re.compile(r"[\x21-\x7e]{1,255}")


class KeyReused(exceptions.APIException):
    """The key belongs to another request."""

    status_code = status.HTTP_422_UNPROCESSABLE_ENTITY
    default_code = "idempotency_key_reused"
    default_detail = "This key was used for another request in the last 24 h. Choose a new one."


class StillRunning(exceptions.APIException):
    """The first request with the key has not been answered yet."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "request_in_progress"
    default_detail = "A request with this key is still being done. Ask again in a few seconds."


class OutcomeUnknown(exceptions.APIException):
    """The first request with the key was never answered."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "outcome_unknown"
    default_detail = (
        "A request with this key was begun and never answered, for example because crosslog was "
        "stopped meanwhile. Look whether it was done; if not, send it with a new key."
    )


class AnswerNotKept(exceptions.APIException):
    """The request was done, and its answer held a secret that is shown only once."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "answer_not_kept"
    default_detail = (
        "This was done already. Its answer held a secret, which is shown once and not kept."
    )


def do_once(
    request: Request, perform: Callable[[], Response], *, holds_secret: bool, wait_s: float = WAIT_S
) -> Response:
    """Perform a POST, or return the answer that its key got before.

    Raises `ValidationError` for a malformed key, else one of this module's refusals.
    """
    claim = _claim(request, wait_s)
    if claim.status is not None:
        return _replay(claim)
    try:
        response = perform()
    except BaseException:
        claim.delete()
        raise
    if not status.is_success(response.status_code):
        claim.delete()
        return response
    claim.status = response.status_code
    claim.body = None if holds_secret else JSONRenderer().render(response.data).decode()
    claim.save(update_fields=["status", "body"])
    return response


def forget_old_keys() -> int:
    """Remove keys that are too old to be answered again; return how many."""
    return IdempotencyKey.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()[0]


def _claim(request: Request, wait_s: float) -> IdempotencyKey:
    """Return a new row (`status` is None), for work that is ours, or the answered row of this request."""
    key = request.headers[HEADER]
    if not _KEY.fullmatch(key):
        text = "Up to 255 visible ASCII characters, best a random UUID."
        raise exceptions.ValidationError({HEADER: [text]})
    caller, request_hash = caller_of(request), _hash(request)
    deadline = time.monotonic() + wait_s
    while True:
        ours = _insert(caller, key, request, request_hash)
        if ours is not None:
            return ours
        found = IdempotencyKey.objects.filter(caller=caller, key=key).first()
        if found is not None and _is_settled(found, request_hash):
            return found
        # It is being done by somebody else, or was refused just now and the key is free again.
        if time.monotonic() >= deadline:
            raise StillRunning
        time.sleep(_POLL_S)


def _insert(caller: str, key: str, request: Request, request_hash: str) -> IdempotencyKey | None:
    now = timezone.now()
    IdempotencyKey.objects.filter(caller=caller, key=key, created_at__lt=now - KEPT_FOR).delete()
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(
                caller=caller,
                key=key,
                route=request.path[:500],
                request_hash=request_hash,
                created_at=now,
            )
    except IntegrityError:
        return None


def _is_settled(found: IdempotencyKey, request_hash: str) -> bool:
    """Say whether the answer is there; raises when it never will be, or belongs to something else."""
    if found.request_hash != request_hash:
        raise KeyReused
    if found.status is None and found.created_at < timezone.now() - DEAD_AFTER:
        raise OutcomeUnknown
    return found.status is not None


def _replay(answered: IdempotencyKey) -> Response:
    if answered.body is None:
        raise AnswerNotKept
    return Response(json.loads(answered.body), answered.status, headers={REPLAYED: "true"})


def _hash(request: Request) -> str:
    """Return what makes two requests the same; the order of keys in the body does not."""
    asked: list[Any] = [request.method, request.get_full_path(), request.data]
    return sha256(json.dumps(asked, sort_keys=True, default=_file).encode()).hexdigest()


def _file(value: Any) -> list[Any]:
    """Return what makes two uploads the same: content, not the temporary place of it."""
    if not isinstance(value, UploadedFile):
        raise TypeError(f"{type(value).__name__} is no part of a request")
    content = sha256()
    for chunk in value.chunks():
        content.update(chunk)
    value.seek(0)
    return [value.name, content.hexdigest()]
