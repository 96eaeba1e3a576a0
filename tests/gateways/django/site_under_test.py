#!/usr/bin/env python3
"""A Django site in one file, as after a beginner's tutorial: a page for all, one that greets, one with a form, and Django's own log-in.

Run as `site_under_test.py DIRECTORY COMMAND...`; its database is in that directory.
"""

import sys
from pathlib import Path

import django
from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="for a test, and for nothing else: fifty characters long",
    ROOT_URLCONF=__name__,
    USE_TZ=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(Path(sys.argv[1]) / "db.sqlite3")}},
    INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sessions"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.common.CommonMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    LOGIN_REDIRECT_URL="/hello/",
)
django.setup()

from django.contrib.auth.views import LoginView  # noqa: E402
from django.core.management import execute_from_command_line  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.template import engines  # noqa: E402
from django.urls import path  # noqa: E402


def shown(request, template, **context):
    return HttpResponse(engines["django"].from_string(f"<html><body>{template}</body></html>").render(context, request))


def news(request):
    return shown(request, "<h1>News</h1>")


def hello(request):
    return shown(request, "Hello, {{ name }}!", name=request.user.get_username() or "guest")


def weather(request):
    return shown(request, "You are at {{ address }}.", address=request.META.get("HTTP_X_FORWARDED_FOR", "home"))


def contact(request):
    return shown(request, '<form method="post">{% csrf_token %}<input name="text"></form>')


def survey(request):
    return shown(request, '<form method="post"><input name="vote"></form>')


class Login(LoginView):
    def render_to_response(self, context, **_):
        return shown(self.request, '<form method="post">{% csrf_token %}{{ form }}</form>', form=context["form"])


urlpatterns = [
    path("", news),
    path("hello/", hello),
    path("weather/", weather),
    path("contact/", contact),
    path("survey/", survey),
    path("login/", Login.as_view()),
]

if __name__ == "__main__":
    execute_from_command_line([sys.argv[0], *sys.argv[2:]])
