"""A Django application that reports the visitor's address and scheme. The lines in between are those of docs/http-applications.md."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path

# lines 1 of the page
settings.configure(DEBUG=False, ALLOWED_HOSTS=["example.org"], ROOT_URLCONF=__name__, SECRET_KEY="of a test", SECURE_PROXY_SSL_HEADER=SECURE_PROXY_SSL_HEADER)


def render(request, template):
    return HttpResponse(f"<!DOCTYPE html><title>{template}</title>")


# lines 2 of the page


def who(request):
    response = JsonResponse({"address": request.META["HTTP_X_REAL_IP"], "scheme": request.scheme})
    response["Cache-Control"] = "no-store"
    return response


urlpatterns = [path("", home), path("who", who)]
app = get_wsgi_application()
