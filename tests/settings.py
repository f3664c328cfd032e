"""The console's settings for tests: a folder of its own, quick hashing, no broker."""

import os
import tempfile

_HOME = tempfile.TemporaryDirectory(prefix="crosslog-test-")
os.environ["CROSSLOG_HOME"] = _HOME.name
os.environ["DATABASE_URL"] = os.environ.get("TEST_DATABASE_URL", "sqlite://:memory:")
for _name in ("CROSSLOG_RUNS_DIR", "DEBUG", "SECRET_KEY", "SECURE_COOKIES", "ALLOWED_HOSTS"):
    os.environ.pop(_name, None)

from console.settings import *  # noqa: E402, F403  after the environment is set

ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", "testserver"]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
# Tests ask more often than people; those of the limits set their own.
API_READS_PER_MIN = API_WRITES_PER_MIN = 0
# What a test wrote is in the rail at once.
SIDEBAR_FRESH_S = 0
# Nothing listens here: a test that needs a broker starts one and says so.
REDIS_URL = "redis://127.0.0.1:1/0"
