"""Django settings.

Everything an operator may change comes from the environment; `./run` sets it for the embedded services.
"""

import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import django_stubs_ext
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static
from django.urls import reverse_lazy
from django.utils.translation import gettext_lazy as _

django_stubs_ext.monkeypatch()

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = Path(os.environ.get("KAMERPLANTER_HOME") or BASE_DIR / "var").resolve()


def _flag(name: str, *, default: bool) -> bool:
    value = os.environ.get(name, "").strip().lower()
    if value in {"1", "true", "yes", "on"}:
        return True
    if value in {"0", "false", "no", "off"}:
        return False
    if value:
        raise ImproperlyConfigured(
            f"{name} must be one of 1, true, yes, on, 0, false, no, off; it is {value!r}."
        )
    return default


def _number(name: str, *, default: int) -> int:
    value = os.environ.get(name, "").strip()
    if not value:
        return default
    try:
        return int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number; it is {value!r}.") from None


def _names(name: str, *, default: list[str]) -> list[str]:
    return [part.strip() for part in os.environ.get(name, "").split(",") if part.strip()] or default


def _database(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured("DATABASE_URL must look like postgresql://user:password@host:5432/name.")
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "kamerplanter",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": parts.hostname or "",
        "PORT": str(parts.port or ""),
        "CONN_MAX_AGE": 60,
        "CONN_HEALTH_CHECKS": True,
        # A statement prepared on its own may keep a plan made for other parameters.
        "OPTIONS": {"prepare_threshold": None, "connect_timeout": 5},
    }


DEBUG = _flag("KAMERPLANTER_DEBUG", default=False)
# The fallback only lets commands such as `makemigrations --check` load the settings; `serving` refuses it.
SECRET_KEY = os.environ.get("SECRET_KEY") or "insecure-only-for-commands-that-serve-nobody"
ALLOWED_HOSTS = _names("KAMERPLANTER_ALLOWED_HOSTS", default=["localhost", "127.0.0.1", "[::1]"])
CSRF_TRUSTED_ORIGINS = _names("KAMERPLANTER_TRUSTED_ORIGINS", default=[])

INSTALLED_APPS = [
    "unfold.apps.BasicAppConfig",
    "accounts.apps.CockpitConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "pgtrigger",
    "channels",
    "django_celery_beat",
    "axes",
    "accounts",
    "knowledge",
    "assistant",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "kamerplanter.urls"
ASGI_APPLICATION = "kamerplanter.asgi.application"
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
                "django.template.context_processors.i18n",
            ],
        },
    },
]

DATABASES = {
    "default": _database(
        os.environ.get("DATABASE_URL") or "postgresql://kamerplanter@127.0.0.1:5432/kamerplanter"
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

REDIS_URL = os.environ.get("REDIS_URL") or "redis://127.0.0.1:6379/0"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": REDIS_URL}}

AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "django.contrib.auth.backends.ModelBackend",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"
AXES_FAILURE_LIMIT = 8
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_RESET_ON_SUCCESS = True
AXES_LOCKOUT_CALLABLE = "accounts.views.locked_out"

LANGUAGE_CODE = "de"
LANGUAGES = [("de", _("German")), ("en", _("English"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
LANGUAGE_COOKIE_SAMESITE = "Lax"
USE_I18N = True
USE_TZ = True
TIME_ZONE = os.environ.get("TZ_NAME") or "Europe/Berlin"

STATIC_URL = "/static/"
STATIC_ROOT = HOME / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedStaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
DATA_UPLOAD_MAX_NUMBER_FILES = 200
KNOWLEDGE_MAX_UPLOAD_BYTES = _number("KAMERPLANTER_MAX_UPLOAD_MB", default=100) * 1024 * 1024

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SECURE_CONTENT_TYPE_NOSNIFF = True
X_FRAME_OPTIONS = "DENY"
_HTTPS = _flag("KAMERPLANTER_HTTPS", default=False)
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _HTTPS
if _HTTPS:
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31_536_000

# What the index should be; an index built with anything else is a mismatch that only a reindex resolves.
KNOWLEDGE_INDEX = {
    "embedding_model": os.environ.get("AI_EMBEDDING_MODEL") or "use-multilingual-v3",
    "chunk_size": _number("KAMERPLANTER_CHUNK_SIZE", default=512),
    "chunk_overlap": _number("KAMERPLANTER_CHUNK_OVERLAP", default=64),
    "vector_backend": os.environ.get("KAMERPLANTER_VECTOR_BACKEND") or "exact",
}
KNOWLEDGE_EMBEDDERS = {"use-multilingual-v3": "knowledge.embedding.use.UniversalSentenceEncoder"}
# How many index versions of each scope can be searched and gone back to.
KNOWLEDGE_KEEP_VERSIONS = _number("KAMERPLANTER_KEEP_VERSIONS", default=500)
KNOWLEDGE_FILES = HOME / "files"
KNOWLEDGE_SAMPLE = BASE_DIR / "sample" / "knowledge"

AI_RAG_TOP_K = _number("AI_RAG_TOP_K", default=5)
AI_PROVIDERS = {"rule_based": "assistant.providers.rule_based.RuleBased"}
AI_DEFAULT_PROVIDER = os.environ.get("AI_DEFAULT_PROVIDER") or "rule_based"

CELERY_BROKER_URL = REDIS_URL
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_SERIALIZER = "json"
CELERY_TIMEZONE = "UTC"
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 3600,
    "socket_timeout": 5,
    "socket_connect_timeout": 5,
    "retry_on_timeout": True,
}
CELERY_TASK_PUBLISH_RETRY_POLICY = {"max_retries": 1, "interval_start": 0.1, "interval_max": 0.5}
CELERY_BEAT_SCHEDULER = "django_celery_beat.schedulers:DatabaseScheduler"
CELERY_BEAT_SCHEDULE = {
    # The queue moves on its own where a message or a worker was lost.
    "work-queue": {"task": "knowledge.tasks.work_queue", "schedule": 15.0},
    "beat-heartbeat": {"task": "knowledge.tasks.note_beat", "schedule": 15.0},
}

UNFOLD = {
    "SITE_TITLE": "Kamerplanter",
    "SITE_HEADER": "Kamerplanter",
    "SITE_SUBHEADER": _("Knowledge cockpit"),
    "SITE_URL": "/",
    "SITE_SYMBOL": "potted_plant",
    "SHOW_LANGUAGES": True,
    "SHOW_HISTORY": False,
    "SITE_FAVICONS": [
        {
            "rel": "icon",
            "type": "image/svg+xml",
            "href": lambda request: static("assistant/leaf.svg"),
        },
    ],
    "STYLES": [lambda request: static("knowledge/cockpit.css")],
    "DASHBOARD_CALLBACK": "knowledge.admin.start_page.dashboard",
    "GLOBAL_CALLBACK": "knowledge.admin.banner.mismatches",
    "BORDER_RADIUS": "8px",
    "COLORS": {
        "primary": {
            "50": "240 253 244",
            "100": "220 252 231",
            "200": "187 247 208",
            "300": "134 239 172",
            "400": "74 222 128",
            "500": "34 160 84",
            "600": "22 128 66",
            "700": "21 104 56",
            "800": "22 83 47",
            "900": "20 68 41",
            "950": "5 46 22",
        },
    },
    "SIDEBAR": {
        "show_search": False,
        "navigation": [
            {
                "title": _("Knowledge"),
                "items": [
                    {"title": _("Overview"), "icon": "dashboard", "link": reverse_lazy("admin:index")},
                    {
                        "title": _("Documents"),
                        "icon": "description",
                        "link": reverse_lazy("admin:knowledge_document_changelist"),
                    },
                    {
                        "title": _("Jobs"),
                        "icon": "work_history",
                        "link": reverse_lazy("admin:knowledge_ingestjob_changelist"),
                    },
                    {
                        "title": _("Index versions"),
                        "icon": "layers",
                        "link": reverse_lazy("admin:knowledge_indexversion_changelist"),
                    },
                    {
                        "title": _("Search playground"),
                        "icon": "science",
                        "link": reverse_lazy("admin:knowledge_chunk_changelist"),
                    },
                ],
            },
            {
                "title": _("People"),
                "items": [
                    {
                        "title": _("Tenants"),
                        "icon": "groups",
                        "link": reverse_lazy("admin:accounts_tenant_changelist"),
                        "permission": "accounts.cockpit.sees_tenants",
                    },
                    {
                        "title": _("Users"),
                        "icon": "person",
                        "link": reverse_lazy("admin:accounts_user_changelist"),
                        "permission": "accounts.cockpit.sees_users",
                    },
                ],
            },
        ],
    },
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"plain": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "plain"}},
    "root": {"handlers": ["console"], "level": os.environ.get("KAMERPLANTER_LOG_LEVEL") or "INFO"},
    "loggers": {"axes": {"level": "WARNING"}, "django.db.backends": {"level": "WARNING"}},
}
