"""The table of the audit log: for each route that changes something a request that adds an entry, the test that asserts
its entry, or the reason why there is none.

A route in neither table fails `test_audited`. Adding a form means adding its row, and so deciding what is recorded.
"""

from __future__ import annotations

import json
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from tests.webapp.environments.test_pages import form_data
from tests.webapp.security import acts
from tests.webapp.security.acts import Act
from tests.webapp.sweeps.test_pages import KL_ROW
from tests.webapp.sweeps.test_pages import form as sweep_form
from tests.webapp.world import CHECKPOINT_STEP, World

SUITE = 'name = "{}"\n[[items]]\nname = "Arms"\nenvironment = {{ kind = "bandit" }}\ncount = 2\n'
TINY = {"policy": "directory", "directory": "tiny"}
ROLLOUT = '{"step": 1, "group": 0, "return": 1, "messages": [{"role": "user", "content": "2+2"}]}\n'
SWEEP = {
    "base": "starter",
    "plan": {"axes": [{"type": "values", "field": "loss.kl_coefficient", "values": [0, 0.1]}], "seeds": [1]},
}
CHANGE = {"optimizer.learning_rate": 2e-5}
AT_STEP = {"step": CHECKPOINT_STEP}
REPORT = {"title": "Rates", "text": "Some words."}
API = "api/v1/"
OF_A_RUN = "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/"
OF_A_SWEEP = "api/v1/^sweeps/(?P<sweep_id>[0-9]{1,9})/"
OF_A_REPORT = "api/v1/^reports/(?P<report_id>[0-9]{1,9})/"
OF_AN_ENVIRONMENT = "api/v1/^environments/(?P<environment_id>[0-9]{1,9})/"


def upload(_: World) -> dict[str, Any]:
    return {"file": SimpleUploadedFile("a.jsonl", ROLLOUT.encode())}


def suite(world: World) -> str:
    return world.evaluation.version.suite.name


AUDITED: dict[str, Act | str] = {
    "accounts/password-reset/<uidb64>/<token>/": "accounts/test_audit.py::test_a_password_that_is_reset",
    "accounts/tokens/": Act(
        action="create_token", data={"action": "create", "name": "cluster", "scopes": ["read"], "days": "30"}
    ),
    "account/": "accounts/test_audit.py::test_a_password_that_is_changed",
    "projects/new/": Act(action="create", data={"name": "Lakes"}),
    "projects/join/<str:secret>/": Act(action="join", given=acts.invited),
    "projects/<slug:slug>/settings/": Act(action="edit", data={"name": "Lakes"}),
    "projects/<slug:slug>/delete/": Act(action="delete_project", given=acts.with_empty_project),
    "projects/<slug:slug>/members/<int:user_id>/": Act(
        action="role", data={"action": "role", "role": "viewer"}, given=acts.with_member
    ),
    "projects/<slug:slug>/invitations/": Act(action="invite", data={"role": "viewer", "days": "1"}),
    "projects/<slug:slug>/invitations/<int:pk>/revoke/": Act(action="revoke_invitation", given=acts.with_invitation),
    "account/quotas/": Act(action="quota", data=lambda world: {"user": world.user.pk, "disk_gib": "5"}),
    "environments/new/": Act(action="create", data=form_data()),
    "environments/<int:pk>/edit/": Act(action="edit", data=form_data("bandit", name="Other arms")),
    "environments/<int:pk>/archive/": Act(action="hide"),
    "environments/<int:pk>/preflight/": Act(
        action="preflight", data={"player": "random", "problems": "2", "rollouts": "2", "first_seed": "0"}
    ),
    "environments/<int:pk>/preflight/<int:preflight_id>/stop/": Act(action="stop_preflight", given=acts.with_preflight),
    "runs/bulk/": Act(action="archive", data=lambda world: {"run": world.run.pk, "action": "archive"}),
    "runs/quick-start/": Act(action="launch", data={"preset": "starter"}),
    "runs/new/": Act(action="launch"),
    "runs/import/": Act(action="submit", data=upload),
    "imports/<int:pk>/stop/": Act(action="halt", given=acts.with_import),
    "runs/<str:run_id>/control/": Act(action="archive", data={"action": "archive"}),
    "runs/<str:run_id>/labels/": Act(action="label", data={"notes": "Some words."}),
    "runs/<str:run_id>/settings/": Act(
        action="settings", data={"changes": json.dumps(CHANGE), "revision": "0"}, given=acts.while_it_runs
    ),
    "runs/<str:run_id>/again/": Act(action="again"),
    "runs/<str:run_id>/checkpoints/<int:step>/evaluate/": Act(action="evaluate"),
    "runs/<str:run_id>/checkpoints/<int:step>/evaluate/stop/": Act(
        action="stop_evaluation", given=acts.while_it_is_evaluated
    ),
    "settings/notifications/": Act(
        action="add_webhook", data={"action": "add", "url": "https://hooks.example.org/services/s3cret?key=s3cret"}
    ),
    "sweeps/new/": Act(action="launch_sweep", data=sweep_form(KL_ROW)),
    "sweeps/<int:pk>/control/": Act(action="go_on", data={"action": "resume"}),
    "sweeps/<int:pk>/limits/": Act(action="limits", data={"at_once": "3", "retries": "2", "priority": "0"}),
    "sweeps/<int:pk>/extend/": Act(action="extend", data={"seeds": "5"}),
    "suites/new/": Act(action="create", data={"definition": SUITE.format("arms")}),
    "suites/<slug:name>/edit/": Act(
        action="edit", data={"definition": SUITE.format("small")}, given=acts.with_unused_suite
    ),
    "suites/<slug:name>/evaluate/": Act(action="submit", data=TINY),
    "evaluations/<int:pk>/control/": Act(action="go_on", data={"action": "resume"}),
    "runs/<str:run_id>/what-ifs/of/<int:pk>/": Act(action="what_if"),
    "runs/<str:run_id>/what-ifs/<int:what_if_id>/fork/": Act(action="what_if_again"),
    "runs/<str:run_id>/what-ifs/<int:what_if_id>/stop/": Act(action="stop_what_if", given=acts.with_what_if),
    "leaderboard/links/": Act(action="link_leaderboard", data=lambda world: {"query": f"suite={suite(world)}"}),
    "leaderboard/links/<int:pk>/revoke/": Act(action="unlink_leaderboard", given=acts.with_link),
    "reports/new/": Act(action="create", data=REPORT),
    "reports/<int:pk>/edit/": Act(action="edit", data=lambda world: {**REPORT, "version": world.report.version}),
    "reports/<int:pk>/share/": Act(action="share"),
    "reports/<int:pk>/delete/": Act(action="remove"),
    f"{API}external-runs/": Act(action="ingest", data={"source": "verl"}),
    f"{API}reports/": Act(action="create", data=REPORT),
    f"{OF_A_REPORT}$": Act(action="edit", data=lambda world: {**REPORT, "version": world.report.version}),
    f"{OF_A_REPORT}share/?$": Act(action="share", data={"shared": True}),
    f"{OF_A_REPORT}delete/?$": Act(action="remove"),
    f"{API}sweeps/": Act(action="launch_sweep", data={"definition": SWEEP}),
    f"{OF_A_SWEEP}control/?$": Act(action="go_on", data={"action": "resume"}),
    f"{OF_A_SWEEP}limits/?$": Act(action="limits", data={"at_once": 3}),
    f"{OF_A_SWEEP}extend/?$": Act(action="extend", data={"seeds": [5]}),
    f"{API}suites/": Act(action="create", data={"definition": SUITE.format("arms")}),
    f"{API}evaluations/": Act(action="submit", data=lambda world: {"suite": suite(world), **TINY}),
    f"{API}evaluations/<int:evaluation_id>/control": Act(action="go_on", data={"action": "resume"}),
    f"{API}projects/": Act(action="create", data={"name": "Lakes"}),
    f"{API}environments/": Act(action="create", data={"name": "Arms", "config": {"kind": "bandit"}}),
    f"{OF_AN_ENVIRONMENT}$": Act(action="edit", data={"name": "Arms", "config": {"kind": "bandit", "max_turns": 3}}),
    f"{OF_AN_ENVIRONMENT}archive/?$": Act(action="hide", data={"archived": True}),
    f"{OF_AN_ENVIRONMENT}preflights/?$": Act(action="preflight", data={"player": "random"}),
    f"{API}preflights/<int:preflight_id>/stop": Act(action="stop_preflight", given=acts.with_preflight),
    f"{API}what-ifs/<int:what_if_id>/stop": Act(action="stop_what_if", given=acts.with_what_if),
    f"{API}imports/": Act(action="submit", lines=ROLLOUT),
    f"{API}imports/<int:import_id>/stop": Act(action="halt", given=acts.with_import),
    f"{API}played-evaluations/": Act(action="submit", data=acts.announcement, given=acts.with_small_suite),
    f"{API}played-evaluations/<int:evaluation_id>/finish": Act(action="complete", given=acts.with_all_episodes),
    f"{API}runs/": Act(action="launch", data={"preset": "starter"}),
    f"{OF_A_RUN}control/?$": Act(action="archive", data={"action": "archive"}),
    f"{OF_A_RUN}settings/?$": Act(action="settings", data={"changes": CHANGE}, given=acts.while_it_runs),
    f"{OF_A_RUN}finish/?$": Act(action="ingest_end", data={"succeeded": True}, given=acts.trained_elsewhere),
    f"{OF_A_RUN}queue-position/?$": Act(action="queue_to", data={"position": 1}, given=acts.behind_another),
    f"{OF_A_RUN}evaluate/?$": Act(action="evaluate", data=AT_STEP),
    f"{OF_A_RUN}fork/?$": Act(action="fork", data=AT_STEP, given=acts.with_whole_checkpoint),
    f"{OF_A_RUN}again/?$": Act(action="again"),
    f"{OF_A_RUN}what-ifs/?$": Act(
        action="what_if", data=lambda world: {"trajectory": world.trajectories[0].pk, "turn": 1}
    ),
    f"{OF_A_RUN}labels/?$": Act(action="label", data={"notes": "Some words."}),
    f"{OF_A_RUN}delete/?$": Act(action="remove", data={"confirm": True}),
}

SESSION = "the list of sessions on the page Account has it"
COMPUTES = "it computes and stores nothing"
ONES_OWN = "it arranges the user's own forms and charts, and decides nothing about a run"
RECEIVES = "it is data of what an earlier, recorded request created"
NOT_AUDITED: dict[str, str] = {
    "accounts/login/": SESSION,
    "accounts/logout/": SESSION,
    "accounts/password-reset/": "it sends a mail; the new password is recorded",
    "accounts/sign-in-with/<slug:provider>/": "it leads to the provider; what its answer changes is recorded",
    "environments/preview/": COMPUTES,
    "environments/play/": COMPUTES,
    "runs/presets/": ONES_OWN,
    "runs/presets/<int:pk>/delete/": ONES_OWN,
    "runs/check/": COMPUTES,
    "runs/<str:run_id>/alerts/try/": COMPUTES,
    "sweeps/check/": COMPUTES,
    "panels/": ONES_OWN,
    "panels/<int:pk>/": ONES_OWN,
    "reports/preview/": COMPUTES,
    f"{API}sweep-plans/": COMPUTES,
    f"{API}played-evaluations/<int:evaluation_id>/episodes": RECEIVES,
    f"{OF_A_RUN}lines/?$": RECEIVES,
}
