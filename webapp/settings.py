"""All settings of the site, flat. Defaults run after a clone with no services; the environment changes them.

README.md lists the variables. What may be bound to which address is judged in `webapp.trust.binding`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import dj_database_url
import django_stubs_ext

from webapp import env
from webapp.trust.authority import loopback_authorities, origin_authority
from webapp.trust.private_socket import private_socket

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
DATA_DIR = env.folder("STARBOARD_DATA_DIR", BASE_DIR / "var")
RUNS_DIR = str(env.folder("RUNS_DIR", DATA_DIR / "runs"))
STARBOARD_MAX_PARALLEL_RUNS = env.whole("STARBOARD_MAX_PARALLEL_RUNS", 1, low=1, high=256)

# Who may be spoken to, and by which pages. `webapp.trust.gate` checks every request and socket against these.
PORT = env.whole("PORT", 8000, low=1, high=65535)
STARBOARD_BIND = env.text("STARBOARD_BIND", "127.0.0.1")
STARBOARD_ALLOWED_HOSTS = env.words("STARBOARD_ALLOWED_HOSTS")  # authorities: `host` or `host:port`
STARBOARD_TRUSTED_ORIGINS = env.words("STARBOARD_TRUSTED_ORIGINS")  # `https://host` or `https://host:port`
TRUSTED_ORIGINS = STARBOARD_TRUSTED_ORIGINS or [f"http://{host}" for host in loopback_authorities(PORT)]
TRUSTED_HOSTS = [*STARBOARD_ALLOWED_HOSTS, *(origin_authority(origin) for origin in TRUSTED_ORIGINS)]
OVER_TLS = bool(STARBOARD_TRUSTED_ORIGINS) and all(o.startswith("https://") for o in STARBOARD_TRUSTED_ORIGINS)
STARBOARD_SIGN_IN_LINKS = env.flag("STARBOARD_SIGN_IN_LINKS", True)

DEBUG = env.flag("STARBOARD_DEBUG", False)
SECRET_KEY = env.secret("SECRET_KEY", DATA_DIR / "secret_key")
SECRET_KEY_GIVEN = bool(env.text("SECRET_KEY"))
ALLOWED_HOSTS = sorted({host.rsplit(":", 1)[0] if ":" in host.rsplit("]", 1)[-1] else host for host in TRUSTED_HOSTS})
CSRF_TRUSTED_ORIGINS = TRUSTED_ORIGINS

INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "channels",
    "webapp.accounts",
    "webapp.environments",
    "webapp.runs",
    "webapp.trajectories",
    "webapp.evaluations",
    "webapp.live",
    "webapp.api",
]
MIDDLEWARE = [
    "webapp.trust.headers.SecurityHeaders",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "webapp.security.login.SignedInByDefaultMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
ROOT_URLCONF = "webapp.urls"
ASGI_APPLICATION = "webapp.asgi.application"
TEMPLATES: list[dict[str, Any]] = [
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
        },
    }
]
FORM_RENDERER = "django.forms.renderers.DjangoTemplates"

# SQLite: writers queue for the lock at once instead of failing half-way; only the worker's housekeeping
# empties the write-ahead log, because several processes that do can corrupt it before SQLite 3.51.3.
SQLITE_OPTIONS = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    "init_command": (
        "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA wal_autocheckpoint=0;"
        "PRAGMA cache_size=-32000; PRAGMA foreign_keys=ON;"
    ),
}
DATABASE_URL = env.text("DATABASE_URL", f"sqlite:///{DATA_DIR / 'starboard.sqlite3'}")
_database: dict[str, Any] = dict(dj_database_url.parse(DATABASE_URL))
if _database["ENGINE"] == "django.db.backends.sqlite3":
    _database["OPTIONS"] = {**_database.get("OPTIONS", {}), **SQLITE_OPTIONS}
    # a file, since a database in memory has no write-ahead log and one connection; one per test process
    _database["TEST"] = {"NAME": str(Path(tempfile.gettempdir()) / f"starboard-test-{os.getpid()}.sqlite3")}
DATABASES = {"default": _database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Redis: the broker of the workers, and news to open pages. `make run` starts one on this socket and names it.
REDIS_URL = env.text("REDIS_URL", f"unix://{private_socket(DATA_DIR)}")
CHANNEL_LAYERS: dict[str, dict[str, Any]] = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
if env.text("REDIS_URL"):
    CHANNEL_LAYERS["default"] = {
        "BACKEND": "channels_redis.core.RedisChannelLayer",
        "CONFIG": {
            "hosts": [REDIS_URL],
            "prefix": "starboard",
            "capacity": 200,
            "channel_capacity": {"specific.*": 2000},  # shared by all sockets of one server process
        },
    }

LOGIN_URL = "accounts:login"
LOGIN_REDIRECT_URL = "runs:list"
LOGOUT_REDIRECT_URL = "accounts:login"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]

# Cookies know no port: two servers on one machine would overwrite each other's without it in the name.
_cookie_prefix = "__Host-" if OVER_TLS else ""
SESSION_COOKIE_NAME = f"{_cookie_prefix}starboard_session_{PORT}"
CSRF_COOKIE_NAME = f"{_cookie_prefix}starboard_csrf_{PORT}"
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = OVER_TLS
SESSION_COOKIE_AGE = 14 * 24 * 3600
SECURE_HSTS_SECONDS = 365 * 24 * 3600 if OVER_TLS else 0

DATA_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1000
FILE_UPLOAD_MAX_MEMORY_SIZE = 1024 * 1024

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = DATA_DIR / "static"
WHITENOISE_USE_FINDERS = True  # served from where they lie: no step between an edit or a pull and the page
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_MAX_AGE = 0

LANGUAGE_CODE = "en-gb"
USE_I18N = False
USE_TZ = True
TIME_ZONE = "UTC"

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": env.text("STARBOARD_LOG_LEVEL", "INFO").upper()},
}
