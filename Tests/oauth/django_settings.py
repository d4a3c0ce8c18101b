"""A Django project with django-oauth-toolkit at /o/; OAUTH_FOLDER has its files."""

import os

FOLDER = os.environ["OAUTH_FOLDER"]
SECRET_KEY = "only-for-tests"
ALLOWED_HOSTS = ["127.0.0.1"]
DEBUG = False
USE_TZ = True
ROOT_URLCONF = "django_urls"
LOGIN_URL = "/login/"
STATIC_URL = "/static/"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": f"{FOLDER}/db.sqlite3",
        "OPTIONS": {"timeout": 30},
    }
}
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "oauth2_provider",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
with open(f"{FOLDER}/oidc.pem") as key:
    OIDC_KEY = key.read()
LIFE = int(os.environ["OAUTH_LIFE"])
OAUTH2_PROVIDER = {
    "SCOPES": {"openid": "Who you are", "read": "Read", "introspection": "Ask about tokens"},
    "DEFAULT_SCOPES": ["read"],
    "OIDC_ENABLED": True,
    "OIDC_RSA_PRIVATE_KEY": OIDC_KEY,
    "ACCESS_TOKEN_EXPIRE_SECONDS": LIFE,
    "AUTHORIZATION_CODE_EXPIRE_SECONDS": 20,
    "REFRESH_TOKEN_REUSE_PROTECTION": True,
    "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
    "DCR_ENABLED": True,
    "DCR_REGISTRATION_PERMISSION_CLASSES": ["oauth2_provider.dcr.AllowAllDCRPermission"],
    "OAUTH_DEVICE_VERIFICATION_URI": os.environ["OAUTH_URL"] + "/o/device/",
    "DEVICE_FLOW_INTERVAL": 1,
}
