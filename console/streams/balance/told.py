"""The balance of a stored application, with what its snapshots show of restores and of returned tasks."""

from __future__ import annotations

from django.conf import settings

from console.streams.models import StreamsApplication
from console.streams.snapshots import Picture
from jobs.streams.balance.advice import Advice, advice_on, runners_of
from jobs.streams.balance.load import Balance, balance_of
from jobs.streams.lag import restore_rate
from jobs.streams.stored import OtherForm, unpack_application

Told = tuple[Balance, tuple[Advice, ...]]
_History = tuple[float | None, list[dict[str, str]]]


def balance_told(row: StreamsApplication, picture: Picture) -> Told:
    """Return balance and advice, computed once for each collection."""

    def reckon() -> Told:
        balance = balance_of(picture.application, picture.facts, picture.states)
        history = picture.lasting("history", lambda: _history(row, picture))
        return balance, advice_on(picture.application, balance, *history)

    return picture.once("balance", reckon)


def _history(row: StreamsApplication, picture: Picture) -> _History:
    """Return the restore rate between the last two joins, and who ran the tasks in the two before this."""
    try:
        packed = row.snapshots.order_by("-pk").values_list("content", flat=True)[1:3]
        seen = [unpack_application(bytes(one)) for one in packed]
    except OtherForm:
        return None, []
    slack_ms = settings.STREAMS_INTERVAL_S * 1000
    rate = seen and restore_rate(seen[0], picture.application, picture.standby_lags, slack_ms)
    return rate or None, [runners_of(one) for one in reversed(seen)]
