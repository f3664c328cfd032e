"""The door for a WSGI server: `gunicorn console.wsgi`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")

application = get_wsgi_application()

from console.frame.security.checks import refuse_unsafe_settings  # noqa: E402  after Django is set up

refuse_unsafe_settings()

from console.frame.processes.gc_freeze import load_pages_and_freeze_gc  # noqa: E402  likewise

load_pages_and_freeze_gc()
