"""All URLs of the site, by app. `/` redirects to the list of runs."""

from __future__ import annotations

from django.urls import include, path

from webapp import pages
from webapp.api.views import reference as api_reference
from webapp.monitoring.health import healthz
from webapp.monitoring.metrics import metrics
from webapp.monitoring.readiness import readyz

urlpatterns = [
    path("", pages.home, name="home"),
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("glossary/", pages.glossary, name="glossary"),
    path("palette/", pages.palette, name="palette"),
    path("styleguide/", pages.styleguide, name="styleguide"),
    path("accounts/", include("webapp.accounts.urls")),
    path("accounts/sign-in-with/", include("webapp.identity_providers.urls")),
    path("account/", include("webapp.account_page.urls")),
    path("projects/", include("webapp.members.urls")),
    path("environments/", include("webapp.environments.urls")),
    path("", include("webapp.alerts.urls")),
    path("trajectories/", include("webapp.trajectories.all_urls")),
    path("runs/<str:run_id>/trajectories/", include("webapp.trajectories.urls")),
    path("runs/<str:run_id>/what-ifs/", include("webapp.whatif.urls")),
    path("runs/", include("webapp.launching.urls")),
    path("imports/", include("webapp.launching.import_urls")),
    path("runs/", include("webapp.run_pages.urls")),
    path("models/", include("webapp.inspections.urls")),
    path("sweeps/", include("webapp.sweeps.urls")),
    path("queue/", include("webapp.queue_pages.urls")),
    path("", include("webapp.suites.urls")),
    path("panels/", include("webapp.panels.urls")),
    path("api/v1/", include("webapp.api.urls")),
    path("api-reference/", api_reference, name="api_reference"),
    path("", include("webapp.leaderboard.urls")),
    path("", include("webapp.comparisons.urls")),
    path("reports/", include("webapp.reports.urls")),
]

handler400 = "webapp.security.pages.bad_request"
handler403 = "webapp.security.pages.permission_denied"
handler404 = "webapp.security.pages.page_not_found"
handler500 = "webapp.security.pages.server_error"
