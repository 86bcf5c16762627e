"""All settings of the site and the workers, read once from the environment. `docs/settings.md` lists the variables."""

from __future__ import annotations

from logging import captureWarnings
from pathlib import Path
from typing import Any

from webapp import environ
from webapp.databases import database
from webapp.identity_providers.configuration import admission, identity_providers
from webapp.logs import FORMATS
from webapp.secret import installation_name, secret_key
from webapp.security.authorities import trusted_hosts, trusted_origins
from webapp.static_address import static_address

BASE_DIR = Path(__file__).resolve().parent.parent
STARBOARD_DATA_DIR = environ.path("STARBOARD_DATA_DIR", BASE_DIR / "var")
RUNS_DIR = environ.path("RUNS_DIR", STARBOARD_DATA_DIR / "runs")
STARBOARD_MAX_PARALLEL_RUNS = environ.integer("STARBOARD_MAX_PARALLEL_RUNS", 1, low=1, high=256)
STARBOARD_MAX_PARALLEL_EVALUATIONS = environ.integer("STARBOARD_MAX_PARALLEL_EVALUATIONS", 1, low=1, high=64)
STARBOARD_MAX_PARALLEL_ENDPOINTS = environ.integer("STARBOARD_MAX_PARALLEL_ENDPOINTS", 2, low=1, high=64)
# What each user may use unless an administrator says otherwise; no limit where a variable is not set.
STARBOARD_QUOTA_RUNS_AT_ONCE = environ.limit("STARBOARD_QUOTA_RUNS_AT_ONCE")
STARBOARD_QUOTA_DEVICE_HOURS = environ.limit("STARBOARD_QUOTA_DEVICE_HOURS")  # in 30 days
STARBOARD_QUOTA_DISK_GIB = environ.limit("STARBOARD_QUOTA_DISK_GIB")
STARBOARD_PREEMPTION = environ.flag("STARBOARD_PREEMPTION", False)  # see webapp.runs.preemption
# Model directories that users may name are in these folders; endpoints are sent API keys of these variables.
STARBOARD_MODEL_FOLDERS = environ.paths("STARBOARD_MODEL_FOLDERS", STARBOARD_DATA_DIR / "models")
STARBOARD_ENDPOINT_KEYS = environ.comma_separated("STARBOARD_ENDPOINT_KEYS")

GPU_HOUR_PRICE = environ.price("STARBOARD_GPU_HOUR_PRICE")
CPU_HOUR_PRICE = environ.price("STARBOARD_CPU_HOUR_PRICE")
CURRENCY = environ.text("STARBOARD_CURRENCY", "USD")
# The address to listen on, and the hosts and origins to accept.
STARBOARD_BIND = environ.text("STARBOARD_BIND", "127.0.0.1")
PORT = environ.integer("PORT", 8000, low=1, high=65535)
STARBOARD_EXTRA_HOSTS = environ.comma_separated("STARBOARD_HOSTS")
STARBOARD_EXTRA_ORIGINS = environ.comma_separated("STARBOARD_ORIGINS")
TRUSTED_ORIGINS = trusted_origins(PORT, STARBOARD_EXTRA_ORIGINS)
TRUSTED_HOSTS = trusted_hosts(PORT, STARBOARD_EXTRA_HOSTS, TRUSTED_ORIGINS)
ALLOWED_HOSTS = sorted({host.rpartition(":")[0] if host[-1] != "]" else host for host in TRUSTED_HOSTS})
CSRF_TRUSTED_ORIGINS = [text.rstrip("/") for text in STARBOARD_EXTRA_ORIGINS]  # in the form that browsers send
# Proxies whose X-Forwarded-For and X-Forwarded-Proto are believed.
STARBOARD_TRUSTED_PROXIES = environ.networks("STARBOARD_TRUSTED_PROXIES")
# Who may read /metrics; nobody if both are empty.
STARBOARD_METRICS_TOKEN = environ.text("STARBOARD_METRICS_TOKEN")
STARBOARD_METRICS_NETWORKS = environ.networks("STARBOARD_METRICS_NETWORKS")
STARBOARD_SIGN_IN_LINKS = environ.flag("STARBOARD_SIGN_IN_LINKS", True)

DEBUG = environ.flag("STARBOARD_DEBUG", False)
SECRET_KEY_GIVEN = environ.text("SECRET_KEY")
SECRET_KEY = secret_key(SECRET_KEY_GIVEN, STARBOARD_DATA_DIR)

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.humanize",
    "django.contrib.staticfiles",
    "channels",
    "allauth.account",
    "allauth.socialaccount",
    "webapp.identity_providers.apps.IdentityProvidersConfig",
    "webapp.accounts",
    "webapp.user_sessions",
    "webapp.projects.apps.ProjectsConfig",
    "webapp.members",
    "webapp.quotas",
    "webapp.environments",
    "webapp.audit",
    "webapp.runs",
    "webapp.copies",
    "webapp.panels",
    "webapp.alerts",
    "webapp.trajectories",
    "webapp.whatif",
    "webapp.launching",
    "webapp.suites",
    "webapp.sweeps",
    "webapp.evaluations",
    "webapp.leaderboard",
    "webapp.comparisons",
    "webapp.reports",
    "webapp.live",
    "webapp.api",
    "webapp.idempotency",
    "workers",  # its management commands
]
MIDDLEWARE = [
    "webapp.monitoring.measuring.RequestDurationMiddleware",  # measures all others
    "webapp.security.headers.SecurityHeadersMiddleware",  # static files and error pages get headers too
    "csp.middleware.CSPMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "webapp.static_files.StaticFilesMiddleware",
    "django.middleware.gzip.GZipMiddleware",  # pages and JSON; static files are compressed once
    "webapp.security.addresses.NoNulMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webapp.user_sessions.middleware.SessionUseMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "webapp.accounts.token_middleware.TokenMiddleware",
    "webapp.projects.middleware.ReaderMiddleware",
    "webapp.security.login.SignedInByDefaultMiddleware",
    "webapp.monitoring.log_fields.UserAndRunMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
            "builtins": ["webapp.projects.tags"],  # what the reader may do
            "libraries": {
                "page": "webapp.page_tags",
                "run_states": "webapp.runs.state_tags",
                "visible_text": "webapp.visible_text",
            },
        },
    }
]

DATABASE_POOL = environ.integer("STARBOARD_DATABASE_POOL", 0, low=0, high=1000)
DATABASES = {"default": database(environ.text("DATABASE_URL"), STARBOARD_DATA_DIR, DATABASE_POOL)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis carries tasks and updates, never the only copy of anything. Without Redis a process only reaches itself.
REDIS_URL = environ.text("REDIS_URL", "memory://")
CHANNEL_LAYERS: dict[str, Any] = {
    "default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    if REDIS_URL == "memory://"
    else {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {
            # the layer blocks for five seconds, which is also the client's default timeout
            "hosts": [{"address": REDIS_URL, "socket_timeout": 30}],
            "prefix": "starboard.updates",
            "capacity": 1000,
            "expiry": 60,
        },
    }
}

CACHES: dict[str, Any] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
    if REDIS_URL == "memory://"
    else {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "starboard",
        "OPTIONS": {"socket_timeout": 2, "socket_connect_timeout": 2},
    }
}
# Of a personal token, by the scope that the request needs.
API_REQUESTS_PER_MINUTE = {
    "read": environ.integer("STARBOARD_API_READS_PER_MINUTE", 600, low=1, high=1_000_000),
    "launch": environ.integer("STARBOARD_API_LAUNCHES_PER_MINUTE", 60, low=1, high=1_000_000),
    "ingest": environ.integer("STARBOARD_API_INGESTS_PER_MINUTE", 600, low=1, high=1_000_000),
}

# E-mail notifications. Without a mail server no e-mail is sent, and the Notifications page says so.
EMAIL_HOST = environ.text("EMAIL_HOST")
EMAIL_PORT = environ.integer("EMAIL_PORT", 25, low=1, high=65535)
EMAIL_HOST_USER = environ.text("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = environ.text("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = environ.flag("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = environ.flag("EMAIL_USE_SSL", False)
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = environ.text("EMAIL_FROM", "starboard@localhost")
PASSWORD_RESET_TIMEOUT = 3600  # seconds
# s3://BUCKET/PREFIX for copies of runs that are over; endpoint and credentials are boto3's own variables
STARBOARD_ARCHIVE_URL = environ.text("STARBOARD_ARCHIVE_URL")
STARBOARD_ARCHIVE_FREE_DAYS = environ.limit("STARBOARD_ARCHIVE_FREE_DAYS")  # until their local files are removed
STARBOARD_CONTACT = environ.text("STARBOARD_CONTACT")  # who helps with accounts, as pages name them
STARBOARD_WEBHOOK_NETWORKS = environ.networks("STARBOARD_WEBHOOK_NETWORKS")

# Browsers share cookies between the ports of a host, and two containers may both believe to have port 8000.
SESSION_COOKIE_NAME = f"starboard_session_{installation_name(SECRET_KEY)}"
CSRF_COOKIE_NAME = f"starboard_csrf_{installation_name(SECRET_KEY)}"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_ENGINE = "webapp.user_sessions.store"
SESSION_COOKIE_AGE = 14 * 24 * 3600
# TLS if all configured origins are https; loopback alone is plain http.
OVER_TLS = bool(STARBOARD_EXTRA_ORIGINS) and all(o.startswith("https://") for o in STARBOARD_EXTRA_ORIGINS)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = OVER_TLS
SECURE_HSTS_SECONDS = 30 * 24 * 3600 if OVER_TLS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if STARBOARD_TRUSTED_PROXIES else None
SECURE_SSL_REDIRECT = OVER_TLS and bool(STARBOARD_TRUSTED_PROXIES)
SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]  # asked from within a network
# whether subdomains have TLS, and whether browsers list the domain, is for the owner of the domain to say
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "webapp.security.pages.csrf_failure"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'none'"],
        "script-src": ["'self'"],
        "style-src": ["'self'"],
        "style-src-attr": ["'none'"],
        "img-src": ["'self'", "data:", "blob:"],
        "font-src": ["'self'"],
        "connect-src": ["'self'"],
        "manifest-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'self'"],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
    }
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 10 * 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000

# Sign-in through identity providers; none by default. Their addresses are ours, so few settings of allauth matter.
STARBOARD_IDENTITY_PROVIDERS = identity_providers()
STARBOARD_ADMISSION = admission()
ACCOUNT_ADAPTER = "webapp.identity_providers.adapters.AccountAdapter"
SOCIALACCOUNT_ADAPTER = "webapp.identity_providers.adapters.IdentityAdapter"
ACCOUNT_EMAIL_VERIFICATION = "none"  # the provider says which addresses are verified
SOCIALACCOUNT_QUERY_EMAIL = True
SOCIALACCOUNT_STORE_TOKENS = False

LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "accounts:login"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in ("UserAttributeSimilarityValidator", "MinimumLengthValidator", "CommonPasswordValidator")
]

# Served from the folder itself in debug mode and in tests, where changed files are seen at the next request or start;
# `workers.launch.web` serves a compressed copy.
STATIC_URL = "/static/" if DEBUG else static_address(BASE_DIR / "static")
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = STARBOARD_DATA_DIR / "static" / STATIC_URL.strip("/").rpartition("/")[2]  # see webapp.published_static
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedStaticFilesStorage"},
}
SERVESTATIC_USE_FINDERS = True
SERVESTATIC_AUTOREFRESH = DEBUG
SERVESTATIC_MAX_AGE = 0 if DEBUG else 365 * 24 * 3600  # seconds
SERVESTATIC_ALLOW_ALL_ORIGINS = False

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False
STARBOARD_LOG_FORMAT = environ.choice("STARBOARD_LOG_FORMAT", FORMATS)
captureWarnings(STARBOARD_LOG_FORMAT == "json")
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "text": {"()": "webapp.logs.TextLines"},
        "json": {"()": "webapp.logs.JsonLines"},
    },
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": STARBOARD_LOG_FORMAT}},
    "root": {"handlers": ["console"], "level": "INFO"},
    # Celery logs every tick of its beat twice; tasks log what matters themselves.
    "loggers": {name: {"level": "WARNING"} for name in ("celery.beat", "celery.app.trace", "celery.worker.strategy")},
}
