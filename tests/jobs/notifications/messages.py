"""Messages for tests."""

from jobs.notifications.message import Event, Item, Message


def make_item(number: int = 1, **fields) -> Item:
    values = {
        "id": number,
        "key": f"broker:{number}",
        "title": f"Broker {number} of east down",
        "sentence": f"Broker {number} down since 08:46:29 UTC: 2 partitions offline.",
        "severity": "critical",
        "state": "open",
        "check": "broker_down",
        "place": "Cluster east",
        "subject_kind": "broker",
        "subject": str(number),
        "todo": "Start the broker.",
        "began_at": "2026-11-23T06:55:00.000Z",
        "ended_at": "",
        "link": f"https://console.example.org/incidents/{number}/",
    }
    return Item(**values | fields)


def make_message(*items: Item, event: Event = Event.OPENED, **fields) -> Message:
    """Make a message; an incident of it is resolved after 4 m 41 s."""
    ended = {"ended_at": "2026-11-23T06:59:41.000Z"} if event is Event.RESOLVED else {}
    found = items or (make_item(**ended),)
    values = {
        "group": "route-1/east",
        "severity": "critical",
        "total": len(found),
        "at": "2026-11-23T07:00:00.000Z",
    }
    return Message(event=event, items=found, **values | fields)
