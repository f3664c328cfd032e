"""What people do with deliveries."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from console.accounts.audit import audit, change
from console.accounts.models import Outcome, User
from console.delivery import channels
from console.delivery.destinations import check_address
from console.delivery.models import NOT_DELIVERED, Delivery, DeliveryState
from console.delivery.outbox import log_with
from console.delivery.results import Refused, TryAgain
from console.frame.errors import ActionRefused
from console.frame.security.masking import shown_address
from jobs.cluster.errors import InvalidFields


@change("report.retry_delivery")
def retry(delivery_id: int, now: datetime) -> Delivery:
    """Try a delivery that was refused or given up again, for another three days.

    Raises `ActionRefused` when it is gone, delivered, or tried anyway.
    """
    with transaction.atomic():
        delivery = Delivery.objects.select_for_update().filter(pk=delivery_id).first()
        if delivery is None:
            raise ActionRefused("gone", "This delivery is not there any more.")
        if delivery.state not in NOT_DELIVERED:
            text = f"This delivery is {delivery.get_state_display().lower()}: there is nothing to try again."
            raise ActionRefused("not_over", text)
        before = {"state": delivery.state}
        delivery.log = log_with(delivery, now, "retry", "Retry requested.")
        delivery.state, delivery.attempts = DeliveryState.PENDING, 0
        delivery.next_at = delivery.tried_since = now
        delivery.claimed_until = delivery.delivered_at = None
        delivery.save()
        told = {"state": delivery.state, "to": delivery.address}
        audit("report.retry_delivery", f"delivery:{delivery_id}", before=before, after=told)
    return delivery


@change("report.test_delivery")
def send_test(channel: str, address: str, person: User, now: datetime) -> str:
    """Send a small test message at once and return what the server said.

    Raises `InvalidFields` with `address`, and `ActionRefused` when it was not delivered, with the reason.
    """
    try:
        address = check_address(channel, address.strip())
    except ValueError as wrong:
        raise InvalidFields({"address": str(wrong)}) from None
    shown = shown_address(address)
    subject = f"{channel} {shown}"
    try:
        sentence = channels.send_test(channel, address, now)
    except (Refused, TryAgain) as failed:
        told = {"sentence": failed.sentence.replace(address, shown)}
        audit("report.test_delivery", subject, after=told, outcome=Outcome.FAILED, by=person)
        raise ActionRefused("not_delivered", failed.sentence) from None
    told = {"sentence": sentence.replace(address, shown)}
    audit("report.test_delivery", subject, after=told, by=person)
    return sentence
