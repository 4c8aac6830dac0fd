"""Every address of the site, app by app."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("assistant.urls")),
    path("", include("accounts.urls")),
    path("admin/", admin.site.urls),
]
