from django.contrib.auth.views import LogoutView
from django.urls import path

from accounts import views

urlpatterns = [
    path("login/", views.Login.as_view(), name="login"),
    path("logout/", LogoutView.as_view(), name="logout"),
    path("language/", views.switch_language, name="set_language"),
    path("settings/", views.preferences, name="settings"),
    path("settings/password/", views.PasswordChange.as_view(), name="password_change"),
    path("settings/tenant/", views.switch_tenant, name="settings-tenant"),
]
