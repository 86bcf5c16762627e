from __future__ import annotations

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "webapp.alerts"

    def ready(self) -> None:
        from webapp.alerts.endings import plan_evaluation_ending
        from webapp.alerts.run_events import plan_run_event
        from webapp.jobs import job_ended
        from webapp.runs.services import run_moved

        run_moved.connect(plan_run_event)
        job_ended.connect(plan_evaluation_ending)
