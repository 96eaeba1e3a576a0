"""The addresses of a site with HyperKitty: the archives below /archives/, accounts below /accounts/."""

from django.http import HttpResponseRedirect
from django.urls import include, path, reverse

urlpatterns = [
    path("", lambda request: HttpResponseRedirect(reverse("hk_root"))),
    path("archives/", include("hyperkitty.urls")),
    path("user-profile/", include("django_mailman3.urls")),
    path("accounts/", include("allauth.urls")),
]
