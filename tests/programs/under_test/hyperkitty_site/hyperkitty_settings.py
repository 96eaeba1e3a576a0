"""Django's settings of a site with HyperKitty alone, as its documentation has them; KASOKU_DATA is its scratch directory. Mailman itself does not run."""

import os
from pathlib import Path

DATA = Path(os.environ["KASOKU_DATA"])
SECRET_KEY = "only for a test"
DEBUG = False
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "hyperkitty_urls"
SITE_ID = 1
USE_TZ = USE_I18N = USE_L10N = True
LANGUAGE_CODE, TIME_ZONE = "en-us", "UTC"
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"

MAILMAN_REST_API_URL = "http://127.0.0.1:1"
MAILMAN_REST_API_USER, MAILMAN_REST_API_PASS = "restadmin", "restpass"
MAILMAN_ARCHIVER_KEY, MAILMAN_ARCHIVER_FROM = "an archiver's key", ("127.0.0.1",)
FILTER_VHOST = False

INSTALLED_APPS = [
    "hyperkitty",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.sites",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "django_gravatar",
    "compressor",
    "haystack",
    "django_extensions",
    "django_q",
    "django_mailman3",
    "allauth",
    "allauth.account",
    "allauth.socialaccount",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "django_mailman3.middleware.TimezoneMiddleware",
]
TEMPLATES = [{
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {"context_processors": [
        "django.template.context_processors.debug",
        "django.template.context_processors.i18n",
        "django.template.context_processors.media",
        "django.template.context_processors.static",
        "django.template.context_processors.tz",
        "django.template.context_processors.csrf",
        "django.template.context_processors.request",
        "django.contrib.auth.context_processors.auth",
        "django.contrib.messages.context_processors.messages",
        "django_mailman3.context_processors.common",
        "hyperkitty.context_processors.common",
    ]},
}]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": DATA / "hyperkitty.sqlite", "OPTIONS": {"timeout": 20}}}
CACHES = {"default": {"BACKEND": "django.core.cache.backends.filebased.FileBasedCache", "LOCATION": DATA / "cache"}}
HAYSTACK_CONNECTIONS = {"default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": str(DATA / "index")}}
Q_CLUSTER = {"timeout": 300, "retry": 360, "save_limit": 100, "orm": "default", "sync": True}

STATIC_URL, STATIC_ROOT = "/static/", DATA / "static"
STATICFILES_FINDERS = [
    "django.contrib.staticfiles.finders.FileSystemFinder",
    "django.contrib.staticfiles.finders.AppDirectoriesFinder",
    "compressor.finders.CompressorFinder",
]
COMPRESS_ENABLED = COMPRESS_OFFLINE = True
COMPRESS_PRECOMPILERS = (("text/x-scss", "sassc -t compressed {infile} {outfile}"),)

AUTHENTICATION_BACKENDS = ("django.contrib.auth.backends.ModelBackend", "allauth.account.auth_backends.AuthenticationBackend")
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_URL = "account_login", "hk_root", "account_logout"
ACCOUNT_EMAIL_VERIFICATION = "none"
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
GRAVATAR_DEFAULT_IMAGE = "mm"
POSTORIUS_TEMPLATE_BASE_URL = "http://127.0.0.1"
