#!/usr/bin/env python3
"""crosslog's management commands: `python manage.py help`."""

import os
import sys


def main() -> None:
    """Run a management command."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        settings.INSTALLED_APPS  # noqa: B018  the first access reads the settings
    except ImproperlyConfigured as error:
        sys.stderr.write(f"crosslog: {error}\n")
        sys.exit(2)
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:  # also while everything is imported
        sys.exit(130)
