"""`manage.py take_bounce`: reads a bounced e-mail from standard input, for the pipe of a mail server."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand
from django.db import DatabaseError
from django.utils import timezone

from console.delivery import bounces

# What mail servers take as "try again later" (sysexits.h: EX_TEMPFAIL).
_LATER = 75


class Command(BaseCommand):
    """Mark the delivery of a report as refused when the message on standard input says so (RFC 3464)."""

    help = "Read an e-mail that came back to MAIL_FROM from standard input."

    def handle(self, *args: Any, **options: Any) -> None:
        """Read one message; any other message than a bounce of ours changes nothing and is no error."""
        raw = sys.stdin.buffer.read(bounces.LARGEST_BYTES)
        try:
            delivery = bounces.take_bounce(raw, timezone.now())
        except DatabaseError as error:
            self.stderr.write(f"crosslog: the database is away: {error}")
            sys.exit(_LATER)
        if delivery is None:
            self.stdout.write("This is no bounce of a report.")
        else:
            self.stdout.write(f"Delivery {delivery.pk}: {delivery.sentence}")
