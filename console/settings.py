"""Django's settings; every difference between machines is an environment variable (.env.example)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dj_database_url

from console.broker import celery_url, own_redis_url
from console.env import (
    env_absolute,
    env_bool,
    env_certificates,
    env_choice,
    env_folder,
    env_int,
    env_list,
    env_mailbox,
    env_registries,
    env_secret_key,
    env_signing_key,
    env_str,
    env_url,
)
from jobs.logs import JsonFormatter, LineFormatter
from jobs.version import VERSION

ROOT = Path(__file__).resolve().parent.parent

# --- what is crosslog's own ---------------------------------------------------------------------
CROSSLOG_HOME = env_folder("CROSSLOG_HOME", Path("~/.local/share/crosslog"))
CROSSLOG_RUNS_DIR = env_folder("CROSSLOG_RUNS_DIR", CROSSLOG_HOME / "runs")
# Where programs say that they got something done, see console.frame.processes.liveness.
SIGNS_DIR = CROSSLOG_HOME / "alive"
CROSSLOG_ARCHIVE = env_folder("CROSSLOG_ARCHIVE", CROSSLOG_HOME / "archive")
COLLECT_INTERVAL_S = env_int("COLLECT_INTERVAL_S", 10, least=1)
QUORUM_INTERVAL_S = env_int("QUORUM_INTERVAL_S", 10, least=1)
FLOW_INTERVAL_S = env_int("FLOW_INTERVAL_S", 5, least=1)
STREAMS_INTERVAL_S = env_int("STREAMS_INTERVAL_S", 30, least=5)
STREAMS_RETENTION_D = env_int("STREAMS_RETENTION_D", 90, least=1)
LAG_RETENTION_H = env_int("LAG_RETENTION_H", 168, least=1)
LAG_HOURS_D = env_int("LAG_HOURS_D", 400, least=30)
METADATA_RETENTION_D = env_int("METADATA_RETENTION_D", 400, least=1)
FINDINGS_RETENTION_D = env_int("FINDINGS_RETENTION_D", 90, least=1)
INCIDENTS_RETENTION_D = env_int("INCIDENTS_RETENTION_D", 30, least=1)
# How often the status of partitions is looked at where nothing tells of a change, and the lag of replicas.
CHECKS_INTERVAL_S = env_int("CHECKS_INTERVAL_S", 5, least=1)
AVAILABILITY_INTERVAL_S = env_int("AVAILABILITY_INTERVAL_S", 5, least=1)
REPLICA_LAG_INTERVAL_S = env_int("REPLICA_LAG_INTERVAL_S", 15, least=5)
# Counts of partitions are kept as steps of 10 s, minutes and hours for so long; what happened to each, too.
AVAILABILITY_RAW_H = env_int("AVAILABILITY_RAW_H", 24, least=1)
AVAILABILITY_MINUTES_D = env_int("AVAILABILITY_MINUTES_D", 7, least=1)
AVAILABILITY_HOURS_D = env_int("AVAILABILITY_HOURS_D", 90, least=7)
AVAILABILITY_HISTORY_D = env_int("AVAILABILITY_HISTORY_D", 90, least=1)
# Checkpoints beside their groups: a round this often; as collected, minutes and hours are kept for so long.
CHECKPOINT_INTERVAL_S = env_int("CHECKPOINT_INTERVAL_S", 10, least=10)
CHECKPOINT_RAW_H = env_int("CHECKPOINT_RAW_H", 24, least=1)
CHECKPOINT_MINUTES_D = env_int("CHECKPOINT_MINUTES_D", 7, least=1)
CHECKPOINT_HOURS_D = env_int("CHECKPOINT_HOURS_D", 90, least=30)
# Observers are judged this often; a dry run of a promotion counts for so long.
PROMOTION_INTERVAL_S = env_int("PROMOTION_INTERVAL_S", 10, least=2)
PROMOTION_PLAN_S = env_int("PROMOTION_PLAN_S", 300, least=10)
# Where the answer to "can I fail over now?" is no longer green, and where it is red.
READY_RPO_S = env_int("READY_RPO_S", 60, least=1)
BLOCKED_RPO_S = env_int("BLOCKED_RPO_S", 600, least=1)
READY_REREAD = env_int("READY_REREAD", 10_000)
LEASE_S = env_int("LEASE_S", 30, least=5)
# So many analyses run on one host at once; the others wait.
ANALYSES_AT_ONCE = env_int("ANALYSES_AT_ONCE", 2, least=1)
ANALYSES_PER_PERSON = env_int("ANALYSES_PER_PERSON", 20, least=1)
# What analyses read of the records of a cluster; the runs read the variable themselves.
RECORD_READ_MB_PER_S = env_int("CROSSLOG_RECORD_READ_MB_PER_S", 50, least=1)
# Schema registries by name; runs read the variable themselves.
SCHEMA_REGISTRIES = env_registries("CROSSLOG_SCHEMA_REGISTRIES")
# A failover plan is applied only while what both clusters said is at most so old.
FAILOVER_EVIDENCE_S = env_int("FAILOVER_EVIDENCE_S", 300, least=10)
# The Ed25519 key (PEM) that signs reports; without it one is made in the home.
REPORT_KEY = env_str("REPORT_KEY", "")
# Age up to which the counts of the sidebar are cached: every open page polls them.
SIDEBAR_FRESH_S = 4
# jobs.cluster.read_only reads the same variable: every process of crosslog refuses to write.
CROSSLOG_READ_ONLY = env_bool("CROSSLOG_READ_ONLY", default=False)

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
    "console.schedules",
    "console.replication",
    "console.quorum",
    "console.availability",
    "console.streams",
    "console.tracing",
    "console.findings",
    "console.checks",
    "console.delivery",
    "console.reports",
    "console.notifications",
    "console.overview",
    "console.metrics",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    # A table of 50 rows is a tenth of its size; its random padding keeps secrets from being guessed.
    "django.middleware.gzip.GZipMiddleware",
    "console.frame.security.middleware.SecurityHeaders",
    "console.frame.security.middleware.PageMethods",
    "console.frame.security.current_request.CurrentRequestMiddleware",
    "console.frame.tables.csv_export.CsvExports",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "console.accounts.sign_in.sessions.SessionLimits",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "console.urls"
FORM_RENDERER = "console.frame.pages.forms.FormRenderer"
WSGI_APPLICATION = "console.wsgi.application"
DEFAULT_EXCEPTION_REPORTER_FILTER = "console.frame.pages.error_pages.HiddenAddresses"
CSRF_FAILURE_VIEW = "console.frame.pages.error_pages.csrf_failure"

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
                "console.frame.pages.render.frame",
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
        # Web, workers and clock write to one file. WAL does not block readers; a transaction
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
AUTHENTICATION_BACKENDS = ["console.accounts.backends.PasswordBackend"]
# A session ends after this long without use, and after this long in any case.
SESSION_IDLE_MIN = env_int("SESSION_IDLE_MIN", 720, least=1)
SESSION_HOURS = env_int("SESSION_HOURS", 168, least=1)
SESSION_COOKIE_AGE = SESSION_HOURS * 3600
# So many failed sign-ins for a name lock it for so long; from one address four times as many.
SIGN_IN_FAILURES = env_int("SIGN_IN_FAILURES", 10, least=1)
SIGN_IN_LOCK_S = env_int("SIGN_IN_LOCK_S", 900, least=1)
TOKEN_DAYS = env_int("TOKEN_DAYS", 365, least=1)
TRUSTED_PROXIES = env_int("TRUSTED_PROXIES", 0)
# The default is http on this machine; behind a proxy with TLS the cookies are for TLS only.
SECURE_COOKIES = env_bool("SECURE_COOKIES", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_COOKIES
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_NAME = "crosslog_session"
CSRF_COOKIE_NAME = "crosslog_csrf"
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if SECURE_COOKIES else None
SECURE_REFERRER_POLICY = "same-origin"
# Django sends it only over TLS.
SECURE_HSTS_SECONDS = env_int("HSTS_S", 31_536_000 if SECURE_COOKIES else 0)

# --- sign-in by OpenID Connect (docs/security.md) -----------------------------------------------
OIDC_ISSUER = env_str("OIDC_ISSUER", "").rstrip("/")
OIDC_CLIENT_ID = env_str("OIDC_CLIENT_ID", "")
OIDC_CLIENT_SECRET = env_str("OIDC_CLIENT_SECRET", "")
OIDC_SCOPES = env_str("OIDC_SCOPES", "openid profile email")
OIDC_NAME_CLAIM = env_str("OIDC_NAME_CLAIM", "preferred_username")
# `OIDC_ROLES` gives values of the claim a role: crosslog-admins=admin,kafka-team=operator
OIDC_ROLE_CLAIM = env_str("OIDC_ROLE_CLAIM", "")
OIDC_ROLES = env_list("OIDC_ROLES")
OIDC_DEFAULT_ROLE = env_str("OIDC_DEFAULT_ROLE", "none")
OIDC_LABEL = env_str("OIDC_LABEL", "single sign-on")

# --- calls to other programs (console/frame/security/outbound.py) -------------------------------
OUTBOUND_SCHEMES = env_list("OUTBOUND_SCHEMES", "https")
OUTBOUND_HOSTS = env_list("OUTBOUND_HOSTS")
OUTBOUND_NETWORKS = env_list("OUTBOUND_NETWORKS")
OUTBOUND_TIMEOUT_S = env_int("OUTBOUND_TIMEOUT_S", 10, least=1)

# --- delivery of reports (console/reports/delivery) ---------------------------------------------
# The address of the console in links of e-mails and webhooks; empty: they have no links.
CROSSLOG_URL = env_url("CROSSLOG_URL")
EMAIL_BACKEND = "console.delivery.mail.MailBackend"
EMAIL_HOST = env_str("MAIL_HOST", "")
MAIL_TLS = env_choice("MAIL_TLS", "starttls", ("starttls", "tls", "none"))
EMAIL_PORT = env_int("MAIL_PORT", {"starttls": 587, "tls": 465, "none": 25}[MAIL_TLS], least=1)
EMAIL_USE_TLS, EMAIL_USE_SSL = MAIL_TLS == "starttls", MAIL_TLS == "tls"
EMAIL_HOST_USER = env_str("MAIL_USER", "")
EMAIL_HOST_PASSWORD = env_str("MAIL_PASSWORD", "")
# Seconds for one answer of the mail server; a whole attempt takes at most three times as long.
EMAIL_TIMEOUT = env_int("MAIL_TIMEOUT_S", 20, least=1)
# Instead of the system's certificates.
MAIL_CA = env_certificates("MAIL_CA")
DEFAULT_FROM_EMAIL = env_mailbox("MAIL_FROM")
MAIL_DOMAINS = [domain.lower() for domain in env_list("MAIL_DOMAINS")]
REPORT_FOLDER = env_absolute("REPORT_FOLDER")
WEBHOOK_KEY = env_signing_key("WEBHOOK_KEY", 16)

# --- files that people upload (console/frame/pages/uploads.py) ----------------------------------
FILE_UPLOAD_HANDLERS = ["console.frame.pages.uploads.BoundedUpload"]
# The largest archive of a metadata log that a browser may bring (console/quorum/log/import_pages.py).
METADATA_UPLOAD_MB = env_int("METADATA_UPLOAD_MB", 512, least=1)
# The largest list of offsets for an analysis (console/runs/uploads.py).
ANALYSIS_UPLOAD_MB = env_int("ANALYSIS_UPLOAD_MB", 256, least=1)
ANALYSIS_UPLOAD_ROWS = env_int("ANALYSIS_UPLOAD_ROWS", 50_000_000, least=1)
DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * 1024 * 1024

# --- API ----------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "console.accounts.sign_in.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
        "rest_framework.authentication.BasicAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["console.frame.security.access.Allowed"],
    "DEFAULT_PAGINATION_CLASS": "console.frame.rest.api.Pagination",
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["console.frame.rest.parsing.JsonParser"],
    "DEFAULT_SCHEMA_CLASS": "console.frame.rest.schema.ApiSchema",
    "DEFAULT_THROTTLE_CLASSES": ["console.frame.rest.throttling.RateLimit"],
    "EXCEPTION_HANDLER": "console.frame.rest.api.error_response",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "crosslog",
    "DESCRIPTION": "Replication and metadata observability for Apache Kafka.",
    "VERSION": VERSION,
    "OAS_VERSION": "3.1.0",
    "SERVERS": [
        {
            "url": "{console}",
            "description": "The console; the paths of this document begin behind its address.",
            "variables": {"console": {"default": "http://127.0.0.1:8000"}},
        }
    ],
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "console.frame.rest.schema.join_enums",
    ],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "ENUM_NAME_OVERRIDES": {
        "CapabilityVerdict": "console.clusters.capabilities.serializers.VERDICTS",
        "ReadinessEnum": "console.replication.checkpoints.models.READINESS_CHOICES",
        "GrantedRole": "console.accounts.models.RIGHTS",
        "Role": "console.accounts.models.Role",
        "PartitionSeverity": "console.clusters.serializers.SEVERITY_CHOICES",
        "StandingWord": "console.clusters.serializers.STATE_CHOICES",
        "PartitionState": "console.replication.flows.models.STATE_CHOICES",
        "OutcomeEnum": "console.accounts.models.Outcome",
        "ScheduleOutcome": "console.schedules.models.Outcome",
        "RunState": "console.runs.models.RunState",
        "EngineState": "console.runs.engines.models.EngineState",
        "EngineKind": "console.runs.engines.models.EngineKind",
        "AnalysisKind": "console.runs.analyses.serializers.KIND_CHOICES",
        "ReportKind": "console.reports.serializers.REPORT_KINDS",
        "ReportRunState": "console.reports.models.RunState",
        "ReportTrigger": "console.reports.models.Trigger",
        "DeliveryState": "console.delivery.models.DeliveryState",
        "ReportChannel": "console.delivery.models.OF_REPORTS",
        "DeliveryChannel": "console.delivery.models.Channel",
        "FailoverPlanState": "console.replication.failover.models.SHOWN_STATES",
        "FailoverGroupState": "console.replication.failover.models.GroupState",
        "FailoverRunState": "console.replication.failover.models.FailoverState",
        "PreCheckState": "console.replication.failover.models.VERDICTS",
        "FailoverDirection": "console.replication.failover.models.DIRECTIONS",
        "FailoverRunKind": "console.replication.failover.models.KINDS",
        "FindingSeverity": "console.findings.models.SEVERITIES",
        "FindingKind": "console.findings.models.Kind",
        "FindingScope": "console.findings.models.Scope",
        "ObjectiveKind": "console.findings.objectives.models.Kind",
        "IncidentState": "console.findings.incidents.models.State",
        "MetadataKind": "console.quorum.models.Kind",
        "PatternKind": "console.availability.placements.models.PatternKind",
        "FailureKind": "console.availability.what_if.serializers.FAILURE_KINDS",
        "PolicyEnum": "console.replication.flows.serializers.POLICY_NAMES",
        "PromotionState": "console.availability.promotion.models.ActionState",
        "PromotionTrigger": "console.availability.promotion.models.Trigger",
        "PromotionMode": "console.availability.promotion.models.Mode",
        "PromotionActor": "console.availability.promotion.models.Actor",
        "ObserverEventKind": "console.availability.advice.models.EVENT_KINDS",
        "DrillKind": "console.availability.drills.models.DrillKind",
        "StreamsProtocol": "console.streams.serializers.STREAMS_PROTOCOLS",
        "TaskRole": "console.streams.serializers.TASK_ROLES",
        "StoreConfidence": "console.streams.serializers.STORE_CONFIDENCES",
        "KeyFormat": "console.streams.serializers.KEY_FORMATS",
        "DrillState": "console.availability.drills.models.DrillState",
        "RunbookSeverity": "console.availability.promotion.serializers.TROUBLES",
        "RunbookCause": "console.availability.promotion.serializers.CAUSES",
        "Untranslated": "console.replication.failover.models.UNTRANSLATED",
    },
}
# Requests per minute for each person and each token, counted by each web process; 0 is no limit.
API_READS_PER_MIN = env_int("API_READS_PER_MIN", 1200)
API_WRITES_PER_MIN = env_int("API_WRITES_PER_MIN", 120)

# --- /metrics -----------------------------------------------------------------------------------
# The token that Prometheus sends; without one only accounts and service tokens may scrape.
METRICS_TOKEN = env_str("METRICS_TOKEN", "")
# At most this many series: topics and partitions of each flow, groups of each cluster.
METRICS_TOPICS = env_int("METRICS_TOPICS", 500)
METRICS_PARTITIONS = env_int("METRICS_PARTITIONS", 0)
METRICS_GROUPS = env_int("METRICS_GROUPS", 500)

# --- background work (console/celery.py) --------------------------------------------------------
REDIS_URL = celery_url(env_str("REDIS_URL", "") or own_redis_url(CROSSLOG_HOME))

# --- static files, language, time, logs ---------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = env_folder("STATIC_ROOT", CROSSLOG_HOME / "static")
STATICFILES_DIRS = [ROOT / "static"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

LANGUAGE_CODE = "en-us"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

LOG_LEVEL = env_choice("LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"))
LOG_FORMAT = env_choice("LOG_FORMAT", "text", ("text", "json"))
# How many processes of `manage.py up` answer pages and the API.
WEB_PROCESSES = env_int("CROSSLOG_WEB_PROCESSES", 2, least=1)
# `manage.py up` rotates the log of each of its programs at this size, and keeps so many old ones.
LOG_FILE_MB = env_int("LOG_FILE_MB", 20, least=1)
LOG_FILES = env_int("LOG_FILES", 5)
# Two or three lines for every task, several tasks a second: the rounds' own rows say more.
_TASKS = {"level": "DEBUG" if LOG_LEVEL == "DEBUG" else "WARNING"}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"text": {"()": LineFormatter}, "json": {"()": JsonFormatter}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": LOG_FORMAT}},
    "root": {"handlers": ["stderr"], "level": LOG_LEVEL},
    "loggers": {
        "django.server": {"level": "WARNING"},
        "celery.app.trace": _TASKS,
        "celery.beat": _TASKS,
        "celery.worker.request": _TASKS,
        "celery.worker.strategy": _TASKS,
    },
}
