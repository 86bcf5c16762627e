"""Reports: writing, blocks, sharing by a link, and the exported file."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from pytest_django import Settings

from tests.builders.runs import add_curve, add_evaluation, build_run
from tests.hostile import STORABLE
from tests.webapp.members.people import a_member
from tests.webapp.world import make_world
from webapp.projects.models import Membership, Role
from webapp.reports import services
from webapp.reports.models import LONGEST_TEXT, Report
from webapp.reports.rendering import render_report
from webapp.runs.models import MetricName, Run
from webapp.trajectories.models import Trajectory

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def browser(client: Client, ada: User) -> Client:
    client.force_login(ada)
    return client


def learned_run(name: str = "calm-otter", seed: int = 1) -> Run:
    run = build_run(name=name, config={"seed": seed})
    add_curve(run, steps=12, seed=seed)
    MetricName.objects.create(run=run, name="rollout/success", last=0.5, lowest=0.2, highest=0.6)
    add_evaluation(run, successes=128)
    return run


def block(kind: str, address: str) -> str:
    return f"```{kind}\n{address}\n```\n"


def shown(text: str) -> str:
    return " ".join(render_report(text, linked=True).html.split())


def test_a_report_is_written_read_and_changed(browser: Client) -> None:
    answer = browser.post("/reports/new/", {"title": " Learning  rates ", "text": "# Result\n\nIt *works*."})
    report = Report.objects.get()
    assert answer["Location"] == f"/reports/{report.pk}/"
    page = browser.get(f"/reports/{report.pk}/").content.decode()
    assert report.title == "Learning rates" and "<h2>Result</h2>" in page and "<em>works</em>" in page
    browser.post(f"/reports/{report.pk}/edit/", {"title": "Rates", "text": "New.", "version": "1"})
    report.refresh_from_db()
    assert (report.title, report.text, report.version) == ("Rates", "New.", 2)
    assert "Rates" in browser.get("/reports/").content.decode()


def test_a_comparison_begins_a_report_with_a_block_of_each_kind(browser: Client) -> None:
    address = "/compare/?runs=a,b&metrics=rollout/success"
    page = browser.get("/reports/new/", {"block": "chart,nonsense,metrics", "address": address})
    assert page.context["text"] == f"```chart\n{address}\n```\n\n```metrics\n{address}\n```\n"
    broken = browser.get("/reports/new/", {"block": "chart", "address": "/compare/?q=`\n<script>"})
    assert broken.context["text"] == ""


def test_a_change_of_an_older_version_is_refused_and_keeps_the_typed_text(browser: Client, ada: User) -> None:
    report = services.create(ada, title="Rates", text="One.")
    services.change(report, ada, title="Rates", text="Two.", version=1)
    answer = browser.post(f"/reports/{report.pk}/edit/", {"title": "Rates", "text": "Mine.", "version": "1"})
    report.refresh_from_db()
    assert (answer.status_code, report.text) == (422, "Two.")
    assert "changed meanwhile" in answer.content.decode() and "Mine." in answer.content.decode()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"title": "  "}, "needs a title"),
        ({"title": "x" * 121}, "121 characters"),
        ({"title": "x", "text": "y" * (LONGEST_TEXT + 1)}, "100,001 characters"),
    ],
)
def test_what_is_not_accepted_is_said(browser: Client, data: dict[str, str], words: str) -> None:
    answer = browser.post("/reports/new/", data)
    assert answer.status_code == 422 and words in answer.content.decode()
    assert not Report.objects.exists()


def test_editors_change_a_report_and_only_its_owner_and_admins_share_and_delete_it(ada: User) -> None:
    report = services.create(ada, title="Ada's", text="Hers.")
    editor, viewer = Client(), Client()
    editor.force_login(a_member("bob"))
    viewer.force_login(a_member("cyd", Role.VIEWER))
    for path in ("share", "delete"):
        assert editor.post(f"/reports/{report.pk}/{path}/").status_code == 403
    assert viewer.post(f"/reports/{report.pk}/edit/", {"title": "Mine", "text": "x", "version": "1"}).status_code == 403
    editor.post(f"/reports/{report.pk}/edit/", {"title": "Ours", "text": "x", "version": "1"})
    report.refresh_from_db()
    assert (report.title, report.share_key) == ("Ours", None)

    def buttons(browser: Client) -> list[str]:
        return re.findall(r'class="button[^>]*>([^<]*)', browser.get(f"/reports/{report.pk}/").content.decode())

    assert "Edit" in buttons(editor) and "Edit" not in buttons(viewer)
    assert not any("Delete" in one for one in buttons(editor))


def test_a_shared_link_is_read_without_an_account_until_it_is_revoked(browser: Client, ada: User) -> None:
    run = learned_run()
    report = services.create(ada, title="Rates", text=block("chart", f"/compare/?runs={run.pk}"))
    browser.post(f"/reports/{report.pk}/share/", {"action": "share"})
    report.refresh_from_db()
    assert report.share_key and len(report.share_key) == 32
    anyone = Client()
    answer = anyone.get(f"/reports/shared/{report.share_key}/")
    page = answer.content.decode()
    assert answer.status_code == 200 and answer["Referrer-Policy"] == "no-referrer"
    assert "calm-otter" in page and "<svg viewBox" in page
    assert "/compare/" not in page and "Edit" not in page  # nothing that needs an account
    browser.post(f"/reports/{report.pk}/share/", {"action": "revoke"})
    gone = anyone.get(f"/reports/shared/{report.share_key}/")
    assert gone.status_code == 404 and "revoked" in gone.content.decode()
    report.refresh_from_db()
    assert services.share(report, ada) not in page


def test_the_exported_file_needs_nothing_else(browser: Client, ada: User) -> None:
    run = learned_run()
    text = (
        "See [runs](/runs/).\n\n"
        + block("chart", f"/compare/?runs={run.pk}")
        + block("metrics", f"/compare/?runs={run.pk}")
    )
    report = services.create(ada, title="Learning rates: 1", text=text)
    answer = browser.get(f"/reports/{report.pk}/download/")
    file = answer.content.decode()
    assert answer["Content-Disposition"] == 'attachment; filename="learning-rates-1.html"'
    assert "--series-1" in file and 'class="report-line" d="M' in file and "0.500" not in file.partition("<style>")[0]
    assert not re.search(r"<(script|link|img|iframe)\b|@import|url\(", file)
    assert re.findall(r'(?:src|href)="([^"]*)"', file) == ["http://testserver/runs/"]


def test_a_chart_is_of_groups_as_the_comparison_is(ada: User) -> None:
    runs = [learned_run(name, seed) for seed, name in enumerate(("calm-otter", "bold-heron", "shy-lynx"), start=1)]
    address = (
        f"/compare/?runs={','.join(run.pk for run in runs)}&metrics=rollout/success&group=seeds&band=ci&smoothing=0"
    )
    html = shown(block("chart", address))
    assert "calm-otter and 2 more seeds (n = 3)" in html
    assert html.count('class="report-band"') == 1 and "with a band: 95% interval" in html
    assert "Open in Compare" in html


def test_on_pages_charts_have_the_numbers_that_scripts_draw_them_from(browser: Client, ada: User) -> None:
    text = block("chart", f"/compare/?runs={learned_run().pk}&metrics=rollout/success&smoothing=0")
    report = services.create(ada, title="Rates", text=text)
    page = browser.get(f"/reports/{report.pk}/").content.decode()
    data = re.search(r'<script type="application/json">(.*?)</script>', page)
    assert data
    figure = json.loads(data[1])
    (line,) = figure["lines"]
    assert (figure["title"], figure["axis"], line["name"]) == ("Training success", "step", "calm-otter")
    assert line["x"] == list(range(1, 13))
    assert (len(line["mean"]), line["low"], line["whole"]) == (12, [], 12)
    assert "vendor/plotly/plotly-basic.min.js" in page
    shared = f"/reports/shared/{services.share(report, ada)}/"
    assert '<script type="application/json">' in Client().get(shared).content.decode()
    assert "<script" not in browser.get(f"/reports/{report.pk}/download/").content.decode()


def test_the_other_blocks_are_tables_of_the_same_runs(ada: User) -> None:
    one, two = learned_run("calm-otter"), learned_run("bold-heron", seed=2)
    address = f"/compare/?runs={one.pk},{two.pk}&metrics=rollout/success,eval/FrozenLake/success"
    assert "best 0.6" in shown(block("metrics", address))
    assert '<th scope="row" class="report-mono">seed</th>' in shown(block("settings", address))
    assert "No alert has fired" in shown(block("alerts", address))
    assert "No held-out problem was recorded" in shown(block("problems", address))


@pytest.mark.parametrize(
    ("kind", "address", "words"),
    [
        ("chart", "/compare/?runs=gone", "None of the runs of this chart exists any more"),
        ("chart", "/compare/", "none was named"),
        ("metrics", "/runs/", "is not a comparison"),
        ("chart", "https://elsewhere.example/x", "is not a comparison"),
        ("chart", "/compare/?runs=a\n/compare/?runs=b", "one address"),
        ("trajectory", "/compare/?runs=a", "is not a trajectory"),
        ("trajectory", "/runs/abc/trajectories/7/", "does not exist any more"),
        ("trajectory", "/runs/abc/trajectories/²/", "is not a trajectory"),
        ("chart", "http://[", "is not"),
    ],
)
def test_a_block_that_cannot_be_shown_says_why(kind: str, address: str, words: str) -> None:
    assert words in shown(block(kind, address))


def test_a_run_that_is_gone_is_left_out_and_said(ada: User) -> None:
    run = learned_run()
    html = shown(block("chart", f"/compare/?runs={run.pk},gone"))
    assert "Run gone does not exist any more" in html and "<svg" in html


def test_a_metric_that_nobody_has_says_so() -> None:
    run = learned_run()
    assert "None of these runs has reported" in shown(block("chart", f"/compare/?runs={run.pk}&metrics=no/such"))


def test_a_report_of_a_live_run_follows_it(ada: User) -> None:
    run = learned_run()
    text = block("chart", f"/compare/?runs={run.pk}")
    assert not render_report(text, linked=True).live
    Run.objects.filter(pk=run.pk).update(state="running")
    assert render_report(text, linked=True).live


def test_blocks_beyond_the_limit_are_left_out_and_said() -> None:
    html = shown(block("chart", "/compare/") * 41)
    assert html.count("report-block--chart") == 40 and "up to 40 blocks" in html


def test_a_trajectory_is_shown_turn_by_turn(settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = str(tmp_path / "runs")
    row = make_world().trajectories[0]
    html = shown(block("trajectory", f"http://testserver/runs/{row.run_id}/trajectories/{row.pk}/"))
    assert "report-turns" in html and f"seed {row.seed}" in html and "Open in the reader" in html


def test_a_trajectory_stays_in_a_report_when_a_later_attempt_supersedes_it(settings: Settings, tmp_path: Path) -> None:
    settings.RUNS_DIR = str(tmp_path / "runs")
    row = make_world().trajectories[0]
    Trajectory.objects.filter(pk=row.pk).update(superseded=True)
    html = shown(block("trajectory", f"http://testserver/runs/{row.run_id}/trajectories/{row.pk}/"))
    assert "report-turns" in html


class Tags(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [value or "" for name, value in attrs if name == "href"]


def test_hostile_names_and_texts_become_no_markup(ada: User) -> None:
    run = build_run()
    MetricName.objects.create(run=run, name="rollout/success", last=0.5)
    for number, text in enumerate(STORABLE):
        named = block("metrics", f"/compare/?runs={run.pk}") if number % 10 == 0 else ""
        if named:
            Run.objects.filter(pk=run.pk).update(name=text[:80])
        tags = Tags(render_report(f"{text}\n\n{named}", linked=True).html)
        assert not tags.found & {"script", "img", "iframe", "form", "input", "style", "object", "meta", "base"}, number
        assert not {name for name in tags.attributes if name.startswith("on") or name in ("style", "srcdoc")}, number
        assert not [link for link in tags.links if link.partition(":")[0].lower() in ("javascript", "data", "vbscript")]


def test_the_api_writes_changes_and_shares(browser: Client) -> None:
    def post(path: str, data: dict[str, object]) -> tuple[int, dict[str, object]]:
        answer = browser.post(f"/api/v1/{path}", data, content_type="application/json")
        return answer.status_code, answer.json()

    status, made = post("reports/", {"title": "Rates", "text": "One."})
    assert (status, made["version"], made["link"]) == (201, 1, None)
    path = f"reports/{made['id']}/"
    assert post(path, {"title": "Rates", "text": "Two.", "version": 1})[1]["version"] == 2
    assert post(path, {"title": "Rates", "text": "Three.", "version": 1})[0] == 409
    link = str(post(f"{path}share", {"shared": True})[1]["link"])
    assert Client().get(link).status_code == 200
    assert post(f"{path}share", {"shared": False})[1]["link"] is None
    assert browser.get("/api/v1/reports/").json()["reports"][0]["title"] == "Rates"
    assert browser.get("/api/v1/reports/999/").status_code == 404
    Report.objects.update(owner=a_member("bob"))
    Membership.objects.exclude(user__username="bob").update(role=Role.VIEWER)
    assert post(path, {"title": "Mine", "text": "", "version": 2})[0] == 403
    assert browser.get(f"/api/v1/{path}").json()["text"] == "Two."
    assert post(f"{path}delete", {})[0] == 403
    Report.objects.update(owner=User.objects.get(username="ada"))
    Membership.objects.filter(user__username="ada").update(role=Role.EDITOR)
    assert post(f"{path}delete", {}) == (200, {"deleted": made["id"]})
    assert post(f"{path}delete", {})[0] == 404
