"""Changes of the metadata log, picked by kind and by their fields."""


def changes_of(changes, kind, **fields):
    """The changes of a kind whose fields have these values, in their order."""
    return [
        one
        for one in changes
        if isinstance(one, kind)
        and all(getattr(one, name) == value for name, value in fields.items())
    ]
