"""Django's settings; every difference between machines is an environment variable (.env.example)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dj_database_url

from console.env import env_bool, env_folder, env_int, env_list, env_secret_key, env_str

ROOT = Path(__file__).resolve().parent.parent

# --- what is crosslog's own ---------------------------------------------------------------------
CROSSLOG_HOME = env_folder("CROSSLOG_HOME", Path("~/.local/share/crosslog"))
CROSSLOG_RUNS_DIR = env_folder("CROSSLOG_RUNS_DIR", CROSSLOG_HOME / "runs")
COLLECT_INTERVAL_S = env_int("COLLECT_INTERVAL_S", 10, least=1)
FLOW_INTERVAL_S = env_int("FLOW_INTERVAL_S", 5, least=1)
LAG_RETENTION_H = env_int("LAG_RETENTION_H", 168, least=1)
LEASE_S = env_int("LEASE_S", 30, least=5)

# --- Django -------------------------------------------------------------------------------------
SECRET_KEY = env_secret_key("SECRET_KEY", CROSSLOG_HOME / "secret-key")
DEBUG = env_bool("DEBUG", default=False)
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
CSRF_TRUSTED_ORIGINS = env_list("CSRF_TRUSTED_ORIGINS")

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "console.frame",
    "console.accounts",
    "console.clusters",
    "console.runs",
    "console.replication",
    "console.overview",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "console.frame.middleware.SecurityHeaders",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"
CSRF_FAILURE_VIEW = "console.frame.error_pages.csrf_failure"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [ROOT / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "console.frame.context.frame",
            ],
        },
    }
]

# --- database -----------------------------------------------------------------------------------
DATABASE_URL = env_str("DATABASE_URL", f"sqlite:///{CROSSLOG_HOME / 'crosslog.sqlite3'}")


def database(url: str) -> dict[str, Any]:
    """Return Django's settings for a database address."""
    found: dict[str, Any] = dict(
        dj_database_url.parse(url, conn_max_age=60, conn_health_checks=True)
    )
    if found["ENGINE"].endswith("sqlite3"):
        # Web, workers and clock write to one file. WAL lets readers go on meanwhile; a transaction
        # that took its write lock only at its first write could not wait for others ("database is
        # locked"), one that takes it at its beginning waits for up to `timeout` seconds.
        found["OPTIONS"] = {
            "transaction_mode": "IMMEDIATE",
            "timeout": 20,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        }
    return found


DATABASES = {"default": database(DATABASE_URL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# --- people -------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
    )
]
# The default is http on this machine; behind a proxy with TLS the cookies are for TLS only.
SECURE_COOKIES = env_bool("SECURE_COOKIES", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_COOKIES
SESSION_COOKIE_NAME = "crosslog_session"
CSRF_COOKIE_NAME = "crosslog_csrf"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE_COOKIES else None
SECURE_REFERRER_POLICY = "same-origin"

# --- API ----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "rest_framework.authentication.SessionAuthentication",
        "rest_framework.authentication.BasicAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["console.frame.access.Allowed"],
    "DEFAULT_PAGINATION_CLASS": "console.frame.api.Pagination",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "console.frame.api.error_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "crosslog",
    "DESCRIPTION": "Replication and metadata observability for Apache Kafka.",
    "VERSION": "v1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_NAME_OVERRIDES": {},
}

# --- background work (console/celery.py) --------------------------------------------------------
REDIS_URL = env_str("REDIS_URL", f"redis://127.0.0.1:{env_int('CROSSLOG_REDIS_PORT', 16379)}/0")

# --- static files, language, time, logs ---------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = CROSSLOG_HOME / "static"
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

LOG_LEVEL = env_str("LOG_LEVEL", "INFO").upper()
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {"django.server": {"level": "WARNING"}},
}
