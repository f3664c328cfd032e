"""The balance of a stored application, with the restore rate that its snapshots show."""

from __future__ import annotations

from django.conf import settings

from console.streams.models import StreamsApplication
from console.streams.snapshots import Picture
from jobs.streams.balance.advice import Advice, advice_on
from jobs.streams.balance.load import Balance, balance_of
from jobs.streams.lag import restore_rate
from jobs.streams.stored import OtherForm, unpack_application

Told = tuple[Balance, tuple[Advice, ...]]


def balance_told(row: StreamsApplication, picture: Picture) -> Told:
    """Return balance and advice, computed once for each collection."""

    def reckon() -> Told:
        balance = balance_of(picture.application, picture.facts, picture.states)
        rate = picture.lasting("restore rate", lambda: _restore_rate(row, picture))
        return balance, advice_on(picture.application, balance, rate)

    return picture.once("balance", reckon)


def _restore_rate(row: StreamsApplication, picture: Picture) -> float | None:
    """Return the restore rate between the last two joins; None: not measured."""
    packed = row.snapshots.order_by("-pk").values_list("content", flat=True)[1:2]
    slack_ms = settings.STREAMS_INTERVAL_S * 1000
    try:
        for one in packed:
            before = unpack_application(bytes(one))
            return restore_rate(before, picture.application, picture.standby_lags, slack_ms)
    except OtherForm:
        pass
    return None
