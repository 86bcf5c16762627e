"""The table of routes by role: what each URL answers to an anonymous user, and to signed-in users by their role in the
project of what it shows.

A route without a row fails `test_roles`, and so does one with a parameter whose row does not say which role it needs.
Adding a page means adding its row, and so deciding who may see it.
"""

from __future__ import annotations

from dataclasses import dataclass

TO_SIGN_IN = "to the sign-in page"
JSON_401 = "401 as JSON"
OPEN = "the same as anyone"

Outcome = int | str


STRANGER, VIEWER, EDITOR, ADMIN, ADMINISTRATOR = "stranger", "viewer", "editor", "admin", "administrator"
ROLES = (STRANGER, VIEWER, EDITOR, ADMIN, ADMINISTRATOR)  # each may do what those before it may
EACH = "each signed-in user"  # it belongs to no project, or shows each what they may read
SOMEWHERE = "an editor of any project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """`get` and `post` are the statuses for whoever has the role, `post` with an empty form; `anonymous` those for
    users who are not signed in. `reads` is the role that GET needs, `acts` that of POST."""

    anonymous: Outcome = TO_SIGN_IN
    get: int
    post: int = 405
    reads: str = ""
    acts: str = ""

    def status(self, role: str, method: str) -> int:
        """For a user with that role in the project of the world, and in no other."""
        status, needed = (self.get, self.reads) if method == "get" else (self.post, self.acts)
        if status == 405 or needed in ("", EACH):
            return status
        if needed == SOMEWHERE:
            return status if ROLES.index(role) >= ROLES.index(EDITOR) else 403
        if needed == ADMINISTRATOR:  # it belongs to no project
            return status if role == ADMINISTRATOR else 403
        if role == STRANGER:
            return 404
        return status if ROLES.index(role) >= ROLES.index(needed) else 403


# The keys are the routes as Django writes them, joined over all levels.
HTTP: dict[str, Row] = {
    "": Row(get=302),
    "healthz": Row(anonymous=OPEN, get=200),
    "metrics": Row(anonymous=OPEN, get=404),  # off unless a setting admits somebody
    "readyz": Row(anonymous=OPEN, get=503),  # tests have no Redis
    "styleguide/": Row(get=200),
    "glossary/": Row(get=200),
    "palette/": Row(get=200),
    "accounts/login/": Row(anonymous=OPEN, get=302, post=302),  # redirects to the runs, for signed-in users
    "accounts/sign-in/": Row(anonymous=OPEN, get=403),  # without a token
    "accounts/logout/": Row(get=405, post=302),
    "accounts/password-reset/": Row(anonymous=OPEN, get=200, post=200),  # without a mail server
    "accounts/password-reset/<uidb64>/<token>/": Row(
        anonymous=OPEN,
        get=200,
        post=200,
        reads=EACH,
        acts=EACH,  # with a wrong token
    ),
    # without identity providers
    "accounts/sign-in-with/<slug:provider>/": Row(anonymous=OPEN, get=405, post=404, acts=EACH),
    "accounts/sign-in-with/<slug:provider>/callback/": Row(anonymous=OPEN, get=404, reads=EACH),
    "accounts/tokens/": Row(get=200, post=400),
    "account/": Row(get=200, post=400),
    "projects/": Row(get=200),
    "projects/new/": Row(get=405, post=422),  # without a name
    "projects/join/<str:secret>/": Row(get=404, post=404, reads=EACH, acts=EACH),  # with a wrong secret
    "projects/<slug:slug>/": Row(get=200, reads=VIEWER),
    "projects/<slug:slug>/settings/": Row(get=405, post=422, acts=ADMIN),  # without a name
    "projects/<slug:slug>/delete/": Row(get=405, post=302, acts=ADMIN),  # of one that stays
    "projects/<slug:slug>/members/<int:user_id>/": Row(get=405, post=400, acts=ADMIN),  # without an action
    "projects/<slug:slug>/invitations/": Row(get=405, post=422, acts=ADMIN),  # without a role
    "projects/<slug:slug>/invitations/<int:pk>/revoke/": Row(get=405, post=302, acts=ADMIN),  # of none
    "account/quotas/": Row(get=200, post=404, reads=ADMINISTRATOR, acts=ADMINISTRATOR),  # without a user
    "models/": Row(get=200),
    "environments/": Row(get=200),
    "environments/new/": Row(get=200, post=200, reads=SOMEWHERE, acts=SOMEWHERE),
    "environments/preview/": Row(get=405, post=422),
    "environments/play/": Row(get=405, post=422),
    "environments/facts/": Row(get=200),
    "environments/<int:pk>/": Row(get=200, reads=VIEWER),
    "environments/<int:pk>/edit/": Row(get=200, post=200, reads=EDITOR, acts=EDITOR),
    "environments/<int:pk>/archive/": Row(get=405, post=302, acts=EDITOR),
    "environments/<int:pk>/preflight/": Row(get=200, post=422, reads=VIEWER, acts=EDITOR),
    "environments/<int:pk>/preflight/<int:preflight_id>/": Row(get=200, reads=VIEWER),
    "environments/<int:pk>/preflight/<int:preflight_id>/stop/": Row(get=405, post=302, acts=EDITOR),
    "runs/": Row(get=200),
    "runs/rows/": Row(get=200),
    "runs/bulk/": Row(get=405, post=302),
    "runs/quick-start/": Row(get=405, post=400),
    "runs/new/": Row(get=200, post=302, reads=SOMEWHERE, acts=SOMEWHERE),
    "runs/import/": Row(get=200, post=422, reads=SOMEWHERE, acts=SOMEWHERE),
    "imports/<int:pk>/": Row(get=200, reads=VIEWER),
    "imports/<int:pk>/progress/": Row(get=200, reads=VIEWER),
    "imports/<int:pk>/stop/": Row(get=405, post=302, acts=EDITOR),
    "runs/presets/": Row(get=405, post=422),  # without a name
    "runs/presets/<int:pk>/delete/": Row(get=405, post=404, reads=EACH, acts=EACH),  # somebody else's, or none
    "runs/check/": Row(get=405, post=200),
    "runs/<str:run_id>/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/control/": Row(get=405, post=400, acts=EDITOR),
    "runs/<str:run_id>/labels/": Row(get=405, post=302, acts=EDITOR),
    "runs/<str:run_id>/settings/": Row(get=405, post=422, acts=EDITOR),
    "runs/<str:run_id>/again/": Row(get=405, post=302, acts=EDITOR),
    "runs/<str:run_id>/history/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/latest/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/config/differences/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/config/download/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/log/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/log/download/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/checkpoints/<int:step>/evaluate/": Row(get=405, post=409, acts=EDITOR),  # without a worker
    "runs/<str:run_id>/checkpoints/<int:step>/evaluate/stop/": Row(get=405, post=409, acts=EDITOR),
    "runs/<str:run_id>/checkpoints/<int:step>/download/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/groups/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/groups/what-if/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/templates/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/alerts/try/": Row(get=405, post=422, acts=EDITOR),
    "runs/<str:run_id>/alerts/<int:seq>/": Row(get=200, reads=VIEWER),
    "settings/notifications/": Row(get=200, post=400),
    "trajectories/": Row(get=200),
    "trajectories/counts/": Row(get=200),
    "trajectories/export.jsonl": Row(get=200),
    "trajectories/compare/": Row(get=200),
    "runs/<str:run_id>/trajectories/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/trajectories/counts/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/trajectories/export.jsonl": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/trajectories/compare/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/trajectories/<int:pk>/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/trajectories/<int:pk>/chat.jsonl": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/trajectories/<int:pk>/data.json": Row(get=200, reads=VIEWER),
    "queue/": Row(get=200),
    "queue/rows/": Row(get=200),
    "sweeps/": Row(get=200),
    "sweeps/new/": Row(get=200, post=422, reads=SOMEWHERE, acts=SOMEWHERE),  # without a base
    "sweeps/check/": Row(get=405, post=200),
    "sweeps/<int:pk>/": Row(get=200, reads=VIEWER),
    "sweeps/<int:pk>/results/": Row(get=200, reads=VIEWER),
    "sweeps/<int:pk>/control/": Row(get=405, post=400, acts=EDITOR),
    "sweeps/<int:pk>/limits/": Row(get=405, post=302, acts=EDITOR),
    "sweeps/<int:pk>/extend/": Row(get=405, post=302, acts=EDITOR),
    "suites/": Row(get=200),
    "suites/new/": Row(get=200, post=422, reads=SOMEWHERE, acts=SOMEWHERE),  # without a definition
    "suites/<slug:name>/": Row(get=200, reads=VIEWER),
    "suites/<slug:name>/edit/": Row(get=200, post=422, reads=EDITOR, acts=EDITOR),
    "suites/<slug:name>/evaluate/": Row(get=200, post=422, reads=EDITOR, acts=EDITOR),  # without a model
    "evaluations/": Row(get=200),
    "evaluations/side-by-side/": Row(get=404),  # of none
    "evaluations/<int:pk>/": Row(get=200, reads=VIEWER),
    "evaluations/<int:pk>/results/": Row(get=200, reads=VIEWER),
    "evaluations/<int:pk>/control/": Row(get=405, post=400, acts=EDITOR),
    "evaluations/<int:pk>/outcomes.parquet": Row(get=200, reads=VIEWER),
    "evaluations/<int:pk>/episodes/": Row(get=200, reads=VIEWER),
    "evaluations/<int:pk>/episodes/<int:item>/<int:problem>/<int:sample>/": Row(get=200, reads=VIEWER),
    "evaluations/<int:pk>/episodes/<int:item>/<int:problem>/<int:sample>/data.json": Row(get=200, reads=VIEWER),
    "panels/": Row(get=200, post=400),
    "panels/<int:pk>/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/what-ifs/of/<int:pk>/": Row(
        get=200, post=302, reads=EDITOR, acts=EDITOR
    ),  # posts the form's initial values
    "runs/<str:run_id>/what-ifs/<int:what_if_id>/": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/what-ifs/<int:what_if_id>/fork/": Row(get=200, post=302, reads=EDITOR, acts=EDITOR),
    "runs/<str:run_id>/what-ifs/<int:what_if_id>/events.json": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/what-ifs/<int:what_if_id>/data.json": Row(get=200, reads=VIEWER),
    "runs/<str:run_id>/what-ifs/<int:what_if_id>/stop/": Row(get=405, post=302, acts=EDITOR),
    "leaderboard/": Row(get=200),
    "leaderboard/runs/": Row(get=200),
    "leaderboard/pair/": Row(get=404),  # without two entries
    "leaderboard/export.<str:form>": Row(get=404, reads=EACH, acts=EACH),  # without a suite
    "leaderboard/links/": Row(get=200, post=404),  # without a suite
    "leaderboard/links/<int:pk>/revoke/": Row(get=405, post=302, reads=EACH, acts=EACH),
    "public/leaderboard/<str:secret>/": Row(anonymous=OPEN, get=404, reads=EACH, acts=EACH),  # with a wrong secret
    "compare/": Row(get=200),
    "compare/effects.json": Row(get=200),
    "reports/": Row(get=200),
    "reports/new/": Row(get=200, post=422, reads=SOMEWHERE, acts=SOMEWHERE),  # without a title
    "reports/preview/": Row(get=405, post=200),
    "reports/shared/<str:key>/": Row(anonymous=OPEN, get=404, reads=EACH, acts=EACH),  # a key that there is not
    "reports/<int:pk>/": Row(get=200, reads=VIEWER),
    "reports/<int:pk>/edit/": Row(get=200, post=422, reads=EDITOR, acts=EDITOR),
    "reports/<int:pk>/share/": Row(get=405, post=302, acts=ADMIN),
    "reports/<int:pk>/delete/": Row(get=405, post=302, acts=ADMIN),
    "reports/<int:pk>/download/": Row(get=200, reads=VIEWER),
    "api-reference/": Row(get=200),
    "api/v1/openapi.json": Row(anonymous=JSON_401, get=200),
    "api/v1/external-runs/": Row(anonymous=JSON_401, get=405, post=400),
    "api/v1/leaderboard/": Row(anonymous=JSON_401, get=200),
    "api/v1/leaderboard/entries": Row(anonymous=JSON_401, get=200),
    "api/v1/leaderboard/pair": Row(anonymous=JSON_401, get=400),  # without two evaluations
    "api/v1/bands": Row(anonymous=JSON_401, get=400),
    "api/v1/outlines": Row(anonymous=JSON_401, get=400),
    "api/v1/group-curves": Row(anonymous=JSON_401, get=400),
    "api/v1/reports/": Row(anonymous=JSON_401, get=200, post=400),
    "api/v1/^reports/(?P<report_id>[0-9]{1,9})/$": Row(
        anonymous=JSON_401, get=200, post=400, reads=VIEWER, acts=EDITOR
    ),
    "api/v1/^reports/(?P<report_id>[0-9]{1,9})/share/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^reports/(?P<report_id>[0-9]{1,9})/delete/?$": Row(anonymous=JSON_401, get=405, post=200, acts=ADMIN),
    "api/v1/presets/": Row(anonymous=JSON_401, get=200),
    "api/v1/queue/": Row(anonymous=JSON_401, get=200),
    "api/v1/sweep-presets/": Row(anonymous=JSON_401, get=200),
    "api/v1/sweep-plans/": Row(anonymous=JSON_401, get=405, post=400),
    "api/v1/sweeps/": Row(anonymous=JSON_401, get=200, post=400),
    "api/v1/^sweeps/(?P<sweep_id>[0-9]{1,9})/$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^sweeps/(?P<sweep_id>[0-9]{1,9})/control/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^sweeps/(?P<sweep_id>[0-9]{1,9})/limits/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^sweeps/(?P<sweep_id>[0-9]{1,9})/extend/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/suites/": Row(anonymous=JSON_401, get=200, post=400),
    "api/v1/evaluations/": Row(anonymous=JSON_401, get=200, post=400),
    "api/v1/evaluations/<int:evaluation_id>/": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/evaluations/<int:evaluation_id>/outcomes": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/evaluations/<int:evaluation_id>/control": Row(anonymous=JSON_401, get=405, post=400, reads=EACH, acts=EACH),
    "api/v1/projects/": Row(anonymous=JSON_401, get=200, post=400),
    "api/v1/environments/": Row(anonymous=JSON_401, get=200, post=400),
    "api/v1/^environments/(?P<environment_id>[0-9]{1,9})/$": Row(
        anonymous=JSON_401, get=200, post=400, reads=VIEWER, acts=EDITOR
    ),
    "api/v1/^environments/(?P<environment_id>[0-9]{1,9})/archive/?$": Row(
        anonymous=JSON_401, get=405, post=400, acts=EDITOR
    ),
    "api/v1/^environments/(?P<environment_id>[0-9]{1,9})/preflights/?$": Row(
        anonymous=JSON_401,
        get=405,
        post=400,
        acts=VIEWER,  # of one that ships, an editor of any project; the body is read first
    ),
    "api/v1/preflights/<int:preflight_id>/": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/preflights/<int:preflight_id>/stop": Row(anonymous=JSON_401, get=405, post=200, acts=EDITOR),
    "api/v1/what-ifs/<int:what_if_id>/": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/what-ifs/<int:what_if_id>/stop": Row(anonymous=JSON_401, get=405, post=200, acts=EDITOR),
    "api/v1/imports/": Row(anonymous=JSON_401, get=200, post=202, acts=SOMEWHERE),
    "api/v1/imports/<int:import_id>/": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/imports/<int:import_id>/stop": Row(anonymous=JSON_401, get=405, post=200, acts=EDITOR),
    "api/v1/played-evaluations/": Row(anonymous=JSON_401, get=405, post=400),
    "api/v1/played-evaluations/<int:evaluation_id>/episodes": Row(anonymous=JSON_401, get=405, post=409, acts=EDITOR),
    "api/v1/played-evaluations/<int:evaluation_id>/finish": Row(anonymous=JSON_401, get=405, post=409, acts=EDITOR),
    "api/v1/runs/": Row(anonymous=JSON_401, get=200, post=400),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/events/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/verdict/?$": Row(anonymous=JSON_401, get=404, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/regimes/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/metrics/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/alerts/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/held-out/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/superseded-steps/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/trajectories/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/export/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/lines/?$": Row(anonymous=JSON_401, get=405, post=409, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/bands/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/outline/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/log/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/control/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/settings/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/finish/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/queue-position/?$": Row(
        anonymous=JSON_401, get=405, post=400, acts=EDITOR
    ),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/checkpoints/?$": Row(anonymous=JSON_401, get=200, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/checkpoint/?$": Row(anonymous=JSON_401, get=400, reads=VIEWER),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/evaluate/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/fork/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/again/?$": Row(anonymous=JSON_401, get=405, post=201, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/what-ifs/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/labels/?$": Row(anonymous=JSON_401, get=405, post=400, acts=EDITOR),
    "api/v1/^runs/(?P<run_id>[0-9a-z]{1,10})/delete/?$": Row(anonymous=JSON_401, get=405, post=400, acts=ADMIN),
}

# The code that closes an anonymous user's socket; whoever may read its object stays connected, others get `NOT_FOUND`.
SOCKETS: dict[str, int] = {
    "ws/evaluations/<int:pk>/": 4401,
    "ws/imports/<int:pk>/": 4401,
    "ws/runs/": 4401,
    "ws/runs/<str:run_id>/": 4401,
    "ws/runs/<str:run_id>/what-ifs/<int:what_if_id>/": 4401,
}

NOT_FOUND = 4404
OF_A_LIST = {"ws/runs/"}  # sockets that stay open for everyone, and send what each may read
