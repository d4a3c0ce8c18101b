"""The addresses of the Django project: its sign-in, the authorization server, and an API."""

from django.contrib import admin
from django.contrib.auth.views import LoginView
from django.http import JsonResponse
from django.urls import include, path
from oauth2_provider.decorators import protected_resource


@protected_resource(scopes=["read"])
def me(request):
    user = request.resource_owner
    return JsonResponse({"user": user.get_username() if user else None})


urlpatterns = [
    path("admin/", admin.site.urls),
    path("login/", LoginView.as_view(template_name="admin/login.html")),
    path("o/", include("oauth2_provider.urls")),
    path("api/me", me),
]
