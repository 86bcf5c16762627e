"""axe reports no serious violation on any page or in any dialog, wide and on a phone, light and dark.

Every page is checked wide in the light theme and narrow in the dark one, since a theme changes nothing but colours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from django.test import Client
from django.urls import resolve
from playwright.sync_api import Page, ViewportSize, expect
from pytest_django import Settings

from tests.builders.suites import suite_evaluation
from tests.builders.trained_run import run_of, trained_once
from tests.e2e.axe import violations
from tests.e2e.open_requests import OpenRequests
from tests.e2e.open_site import needs_chromium, open_site
from tests.engine.foreign.test_rollouts import verl
from tests.webapp.launching.test_import import imported as import_rollouts
from tests.webapp.security.roles import HTTP
from tests.webapp.security.routes import address
from tests.webapp.world import ALERT_SEQ, World, make_world
from webapp.accounts.services import local_user
from webapp.leaderboard.links import new_link
from webapp.runs.models import Run
from webapp.suites.models import SuiteEvaluation
from workers.tasks import index_run

pytestmark = [pytest.mark.e2e, pytest.mark.slow, needs_chromium, pytest.mark.django_db(transaction=True)]

Theme = Literal["light", "dark"]

GRAVE = ("serious", "critical")
HARMLESS = ("region", "hidden-content", "landmark-unique", "presentation-role-conflict")  # and slow
FAULTS = {
    "resultTypes": ["violations"],  # axe takes twice as long to describe what passes
    "rules": {rule: {"enabled": False} for rule in HARMLESS},
}
# what a theme or a width can change; names, roles and structure are the same
OF_LOOKS = {**FAULTS, "runOnly": {"type": "rule", "values": [
    "color-contrast", "link-in-text-block", "scrollable-region-focusable", "aria-hidden-focus", "label",
    "button-name", "link-name",
]}}  # fmt: skip
PATIENCE = 90_000  # ms; a model is inspected by a process of its own, and the test machine may be busy
WIDE: ViewportSize = {"width": 1440, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
VIEWS = (
    "overview", "collapse", "filter", "rollouts", "panels", "metrics", "config", "log", "checkpoints", "control",
    "alerts",
)  # fmt: skip
PARTS = {
    "runs/rows/",
    "runs/<str:run_id>/latest/",
    "runs/<str:run_id>/history/",
    "runs/<str:run_id>/config/differences/",
    "runs/<str:run_id>/trajectories/counts/",
    "trajectories/counts/",
    "sweeps/<int:pk>/results/",
    "evaluations/<int:pk>/results/",
    "imports/<int:pk>/progress/",
    "queue/rows/",
    "reports/<int:pk>/download/",  # a file
}
STILL_COMING = "main [aria-busy=true]:visible, main .skeleton:visible"


@dataclass(frozen=True, slots=True)
class View:
    """A page, and an action on it before it is checked."""

    address: str
    then: Callable[[Page], Any] = lambda page: None
    complete: bool = True  # whether to wait until all its parts have loaded
    tab: str = ""  # of the page of the view before, which is not loaded again: the tab alone is checked

    def __str__(self) -> str:
        return self.address


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_once(tmp_path_factory)


@pytest.fixture
def pages(trained: Path, transactional_db: None, settings: Settings, tmp_path: Path) -> list[View]:
    """For a world with a failed run, a run trained by a real engine, and an imported one."""
    settings.STARBOARD_DATA_DIR = tmp_path
    settings.RUNS_DIR = tmp_path / "runs"
    world, run = make_world(), run_of(trained)
    client = Client()
    client.force_login(world.user)
    import_rollouts(client, verl(score=1), verl(score=0), "{")
    imported = Run.objects.get(preset="imported")
    index_run(imported.pk)
    return [*of_runs(world, run, imported), *of_trajectories(world, run), *of_others(world, run), *dialogs(run)]


def of_runs(world: World, run: Run, imported: Run) -> list[View]:
    first, *others = VIEWS
    views = [View(f"/runs/{run.pk}/#{first}")]
    views += [View(f"/runs/{run.pk}/#{view}", tab=f"#view-{view}") for view in others]
    alerts = [View(f"/runs/{world.run.pk}/#alerts"), View(f"/runs/{world.run.pk}/alerts/{ALERT_SEQ}/")]
    forms = [View("/runs/new/"), View(f"/runs/new/?clone={run.pk}"), View("/runs/import/")]
    return [View("/runs/"), *views, *alerts, *forms, View(f"/runs/{imported.pk}/"), View("/runs/nowhere/")]


def of_trajectories(world: World, run: Run) -> list[View]:
    group = run.trajectories.filter(split="train", step=1, group=0).order_by("member")
    ids = ",".join(str(row.pk) for row in group)
    shaded = world.trajectories[0].pk  # whose token has the strongest colour
    first, own, what_ifs = group[0].pk, f"/runs/{run.pk}/trajectories/", f"/runs/{world.run.pk}/what-ifs/"
    return [
        View(own), View("/trajectories/"), View("/trajectories/?q=thought"),
        View(f"{own}{first}/#t=1&by=entropy", coloured), View(f"{own}{first}/#view=transcript"),
        View(f"/runs/{world.run.pk}/trajectories/{shaded}/#t=1&by=advantage", coloured),
        View(f"{own}compare/?ids={ids}&best=1"), View(f"{own}compare/"),
        View(f"/trajectories/compare/?ids={ids}"),
        View(f"{what_ifs}of/{world.trajectories[0].pk}/"), View(f"{what_ifs}{world.what_if.pk}/"),
        View(f"{what_ifs}{world.what_if.pk}/fork/"),
    ]  # fmt: skip


def of_others(world: World, run: Run) -> list[View]:
    environment = f"/environments/{world.environment.pk}/"
    evaluation, suite = f"/evaluations/{world.evaluation.pk}/", f"/suites/{world.evaluation.version.suite.name}/"
    return [
        View("/suites/"), View("/suites/new/"), View(suite), View(f"{suite}evaluate/"), View(f"{suite}edit/"),
        View("/evaluations/"),
        View(evaluation), View(f"{evaluation}episodes/"), View(f"{evaluation}episodes/0/0/0/"),
        View(f"/evaluations/side-by-side/?first={world.evaluation.pk}&other={world.evaluation.pk}"),
        View("/models/?path=tiny"), View(f"/imports/{world.rollouts.pk}/"),
        View("/sweeps/"), View("/sweeps/new/?preset=slip_rate"), View(f"/sweeps/{world.sweep.pk}/"),
        View("/queue/"),
        View("/environments/"), View(environment), View(f"{environment}edit/"), View(f"{environment}preflight/"),
        View("/environments/new/?kind=sokoban", refused),
        View(f"{environment}?play", played), *of_leaderboard(), View("/compare/"),
        View(f"/compare/?runs={world.run.pk},{run.pk}"), View("/settings/notifications/"),
        View("/reports/"), View("/reports/new/"), View(f"/reports/{world.report.pk}/"),
        View(f"/reports/{world.report.pk}/edit/"),
        View("/styleguide/", complete=False), View("/glossary/"), View("/accounts/login/", signed_out),
        View("/accounts/sign-in/", signed_out), View("/accounts/tokens/", token_made),
        View("/account/"), View("/account/quotas/"), View("/accounts/password-reset/", signed_out),
        View("/accounts/password-reset/MQ/wrong/", signed_out), View("/projects/"), View("/projects/default/"),
        View("/api-reference/"),
    ]  # fmt: skip


def of_leaderboard() -> list[View]:
    """Of a suite with two entries, and the same to anyone."""
    first, other = (suite_evaluation({"Bandit": list(solved)}).pk for solved in ("1100", "0111"))
    suite = SuiteEvaluation.objects.get(pk=first).version.suite
    public = new_link(local_user(), suite, f"suite={suite.name}")
    return [
        View("/leaderboard/runs/"), View(f"/leaderboard/?suite={suite.name}&baseline={first}"),
        View(f"/leaderboard/?suite={suite.name}&as=configuration&show=cost"), View("/leaderboard/links/"),
        View(f"/leaderboard/pair/?first={first}&other={other}"),
        View(f"/public/leaderboard/{public}/", signed_out),
    ]  # fmt: skip


def dialogs(run: Run) -> list[View]:
    reader = f"/runs/{run.pk}/trajectories/{run.trajectories.order_by('pk')[0].pk}/"
    return [
        View("/runs/?palette", opened("#palette", lambda page: page.keyboard.press("Control+k"))),
        View("/runs/?keys", opened("#keys", lambda page: page.keyboard.press("?"))),
        View(f"/runs/{run.pk}/?rename", opened("#rename-dialog", open_rename)),
        View(f"/runs/{run.pk}/?layout#panels", opened("#layout-dialog", lambda page: page.click("#panel-edit"))),
        View("/runs/?menu", opened(".nav .menu-body", lambda page: page.click(".nav .menu summary"))),
        View(f"/runs/{run.pk}/?chart", opened(".chart-menu[open] .menu-body", open_chart_menu)),
        View(f"{reader}?keys", opened("#reader-keys", lambda page: page.keyboard.press("?"))),
    ]


def opened(dialog: str, act: Callable[[Page], None]) -> Callable[[Page], None]:
    def then(page: Page) -> None:
        act(page)
        expect(page.locator(dialog)).to_be_visible()

    return then


def open_rename(page: Page) -> None:
    page.click("#run-menu > summary")
    page.click("#rename")


def open_chart_menu(page: Page) -> None:
    page.locator("#view-overview .chart-menu summary").first.click()


def refused(page: Page) -> None:
    """Saved without a name, and with a limit that is none."""
    page.click(".environment-limits summary")
    page.fill("[name='limits.step_seconds']", "-1")
    page.click("button[type=submit]:has-text('Save')")
    expect(page.locator("[data-error=name]")).not_to_be_empty()
    expect(page.locator("[name='limits.step_seconds']")).to_be_visible()
    expect(page.locator("#preview-problem")).to_be_visible()


def token_made(page: Page) -> None:
    page.fill("#id_name", "cluster")
    page.click("button:has-text('Create token')")
    expect(page.locator("#token")).to_be_visible()


def played(page: Page) -> None:
    page.click("[data-act=start]")
    expect(page.locator(".play-stage")).to_be_visible()


def coloured(page: Page) -> None:
    expect(page.locator(".token--for, .token--against").first).to_be_visible()


def signed_out(page: Page) -> None:
    cookies = page.context.cookies()
    page.context.clear_cookies()
    page.reload()
    page.context.add_cookies(cookies)  # type: ignore[arg-type]


def test_every_page_of_the_site_is_checked(pages: list[View], settings: Settings) -> None:
    """Of the routes that answer with a page; parts of pages and data are not checked on their own."""
    client, world = Client(), make_world(name="another")
    client.force_login(world.user)
    routes = [route for route, row in HTTP.items() if row.get == 200 and route not in PARTS]
    with_pages = {
        route for route in routes if client.get(address(route, world))["Content-Type"].startswith("text/html")
    }
    assert with_pages - {resolve(view.address.partition("?")[0].partition("#")[0]).route for view in pages} == set()


@pytest.mark.timeout(900)
def test_no_page_has_a_serious_accessibility_violation(pages: list[View], settings: Settings) -> None:
    found = []
    with open_site(settings, patience=PATIENCE) as page:
        requests = OpenRequests(page, PATIENCE)
        for view in pages:
            if not view.tab:
                page.goto("about:blank")  # else the last page would be drawn once more
            turn(page, "light")
            page.set_viewport_size(WIDE)
            open_view(page, view, requests)
            found += [f"{view} light {fault}" for fault in grave_faults(page, view)]
            turn(page, "dark")
            page.set_viewport_size(PHONE)
            found += [f"{view} dark, on a phone {fault}" for fault in grave_faults(page, view, OF_LOOKS)]
    assert not found, "\n".join(found)


def open_view(page: Page, view: View, requests: OpenRequests) -> None:
    if view.tab:
        page.goto(view.address)
        expect(page.locator(view.tab)).to_be_visible()
    else:
        requests.load(view.address)
    if page.locator("#run").count():
        expect(page.locator("#live")).to_have_attribute("data-state", "live")
    if view.complete:
        expect(page.locator(STILL_COMING)).to_have_count(0)
    requests.wait_for_none()
    view.then(page)


def turn(page: Page, theme: Theme) -> None:
    page.emulate_media(color_scheme=theme, reduced_motion="reduce")
    if page.url != "about:blank":
        expect(page.locator("html")).to_have_attribute("data-theme", theme)


def grave_faults(page: Page, view: View, options: dict[str, Any] = FAULTS) -> list[str]:
    return [
        f"{one['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for one in violations(page, options, within=view.tab or "html")
        if one["impact"] in GRAVE
        for node in one["nodes"]
    ]
