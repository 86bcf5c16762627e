"""Sign-in through OpenID Connect and OAuth 2 providers, with django-allauth."""
