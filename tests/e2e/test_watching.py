"""The Collapse, Filter and Rollouts views of a run that a real engine trained, all at one selected step."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from pytest_django import Settings

from engine.algorithms.filters import TopK
from engine.event_lines import parse_event
from engine.events import GroupsFiltered
from tests.builders.recorded_run import RecordedRun
from tests.builders.trained_run import run_of, trained_once
from tests.e2e.open_site import needs_chromium, open_site
from webapp.runs.models import Run

pytestmark = [pytest.mark.e2e, needs_chromium, pytest.mark.django_db(transaction=True)]

PATIENCE = 30_000  # ms; the test machine may be busy
VIEWS = ("collapse", "filter", "rollouts")
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', e =>
  window.violations.push(`${e.violatedDirective} ${e.blockedURI}`));
"""
HOSTILE = '<img src=x onerror="window.broken=1">\u202e\x07 go up'


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained_once(tmp_path_factory)


@pytest.fixture
def run(trained: Path, transactional_db: None, settings: Settings, tmp_path: Path) -> Run:
    settings.RUNS_DIR = tmp_path / "runs"
    return run_of(trained)


@pytest.fixture
def page(run: Run, settings: Settings) -> Iterator[Page]:
    with open_site(settings) as opened:
        opened.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        opened.add_init_script(WATCH)
        yield opened
        assert opened.evaluate("window.violations") == []


def visit(page: Page, run: Run, view: str) -> Locator:
    """The view, once the page has its history and is live."""
    page.goto(f"/runs/{run.pk}/#{view}")
    expect(page.locator("#live")).to_have_attribute("data-state", "live")
    return page.locator(f"#view-{view}")


CLIPPED = """map => {
  const frame = map.getBoundingClientRect();
  const isOutside = box => box.left < frame.left || box.right > frame.right || box.bottom > frame.bottom;
  const labels = [...map.querySelectorAll('.regime-label')];
  return labels.filter(label => isOutside(label.getBoundingClientRect())).map(label => label.textContent);
}"""


def scrub(view: Locator, index: int) -> None:
    """Selects the step at `index` of those available."""
    expect(view.locator(".scrubber [type=range]")).to_be_enabled()
    view.locator(".scrubber [type=range]").evaluate(
        "(range, index) => { range.value = index; range.dispatchEvent(new Event('input')); }", index
    )


def groups_of(run: Run, step: int) -> GroupsFiltered:
    events = [parse_event(line) for line in (run.directory / "events.jsonl").read_bytes().splitlines()]
    [found] = [event for event in events if event.kind == "groups_filtered" and event.step == step]
    return found


def test_the_regime_map_has_a_dot_for_each_diagnosed_step_and_names_the_regime(page: Page, run: Run) -> None:
    view = visit(page, run, "collapse")
    expect(view.locator(".regime-map svg .regime-dot")).to_have_count(4)
    expect(view.locator("#collapse-summary")).to_have_text(re.compile("^(Diverse|Template|Compressed|Low|Entropy)"))
    expect(view.locator("#collapse-facts")).to_contain_text("Thoughts scored (M)12")
    assert view.locator(".regime").count() >= 5
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_timeout(200)  # it is drawn again
        assert view.locator(".regime-map svg").evaluate(CLIPPED) == []
    view.get_by_text("Regime and mutual information").click()
    expect(view.locator("#collapse-borders")).to_contain_text("which gives no numbers")
    expect(view.locator("#collapse-borders")).to_contain_text("alert rule template_collapse")


def test_the_scrubber_moves_every_mark_of_the_view_and_follows_the_keyboard(page: Page, run: Run) -> None:
    view = visit(page, run, "collapse")
    expect(view.locator(".scrubber-step")).to_have_value("4")
    view.locator(".scrubber [type=range]").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    expect(view.locator(".scrubber-step")).to_have_value("2")
    expect(view.locator(".regime-now")).to_have_text("step 2")
    expect(view.locator("#collapse-templates > p").first).to_contain_text("Step 2:")
    view.get_by_text("All charts of this view").click()
    view.locator('[data-chart="collapse/conditional_entropy"]').scroll_into_view_if_needed()
    line = view.locator('[data-chart="collapse/conditional_entropy"] .scrub-line')
    expect(line).to_be_visible()
    left = line.evaluate("line => line.offsetLeft")
    view.get_by_role("button", name="Newest").click()
    expect(view.locator(".regime-now")).to_have_text("step 4")
    page.wait_for_function("([line, left]) => line.offsetLeft > left", arg=[line.element_handle(), left])


def test_gradients_have_a_line_for_each_bucket_and_a_note_for_a_missing_term(page: Page, run: Run) -> None:
    view = visit(page, run, "collapse")
    task = view.locator("#collapse-gradients .lines")
    entropy, pull = (view.locator("#collapse-terms .lines").nth(index) for index in range(2))
    expect(task.locator(".lines-plot polyline")).to_have_count(3)
    expect(entropy.locator(".lines-plot polyline")).to_have_count(3)
    expect(pull).to_contain_text("loss.kl_coefficient = 0")
    expect(task.locator(".lines-key")).to_contain_text("lowest std")


def test_templates_are_shown_with_the_states_they_were_used_on(page: Page, run: Run) -> None:
    path = run.directory / "templates/step_4.json"
    found: dict[str, Any] = json.loads(path.read_text())
    prompt = {"environment": HOSTILE, "seed": 5, "group": 0, "turn": 0, "state": HOSTILE}
    template = {
        "key": "<b>", "text": HOSTILE, "count": 9, "prompts": 2, "wordings": 1,
        "example": {"group": 0, "member": 0, "turn": 0},
        "used_on": [{"prompt": 0, "count": 5, "member": 0}, {"prompt": 77, "count": 4, "member": 0}],
    }  # fmt: skip
    path.write_text(json.dumps({**found, "prompts": [prompt], "templates": [template]}))
    view = visit(page, run, "collapse")
    view.get_by_text("Templates of this step").click()
    text = view.locator(".template-text")
    expect(text).to_contain_text('<img src=x onerror="window.broken=1">')
    expect(text.locator(".hidden-character")).to_have_text(["RLO", "BEL"])
    view.get_by_text("Where it was used: 2 prompts").click()
    expect(view.locator(".template-states pre")).to_contain_text("<img src=x")
    assert page.evaluate("window.broken") is None
    view.get_by_role("link", name="read one").click()
    expect(page).to_have_url(re.compile(rf"/runs/{run.pk}/trajectories/\d+/(\?turn=1|#t=1)$"))


def test_the_matrix_has_every_return_and_hatches_dropped_groups(page: Page, run: Run) -> None:
    event = groups_of(run, 3)
    view = visit(page, run, "filter")
    scrub(view, 2)
    expect(view.locator("#filter-summary")).to_contain_text("Step 3: top-p 0.9 of variance mass kept")
    expect(view.locator("#filter-summary")).to_contain_text(f"kept {len(event.kept)} of 6 groups")
    expect(view.locator(".matrix .is-kept")).to_have_count(len(event.kept))
    for index, returns in enumerate(event.returns):
        row = view.locator(".matrix tbody tr").filter(has=page.get_by_role("rowheader", name=str(index), exact=True))
        shown = [float(text) for text in row.locator(".heat").all_text_contents()]
        assert shown == pytest.approx(returns, abs=0.006)
        assert (row.get_attribute("class") == "is-kept") == (index in event.kept)
    cells = view.locator(".matrix tbody tr:not(.matrix-line) td.num:nth-last-child(3)")
    stds = [float(text) for text in cells.all_text_contents()]
    assert stds == sorted(stds, reverse=True)


def test_the_slider_previews_another_filter(page: Page, run: Run) -> None:
    view = visit(page, run, "filter")
    expect(view.locator("#filter-preview-summary")).to_contain_text(re.compile("the same groups|none either"))
    scrub(view, 0)
    expect(view.locator("#filter-summary")).to_contain_text("Step 1:")
    view.locator("#what-if select").select_option("top_k variance")
    view.locator("#what-if [name=value]").evaluate(
        "range => { range.value = 0.2; range.dispatchEvent(new Event('input', { bubbles: true })); }"
    )
    event = groups_of(run, 1)
    scores = [score if score is not None else 0.0 for score in event.scores]
    expected = TopK(value=0.2).choose(scores)
    expect(view.locator("#filter-preview-summary")).to_contain_text("Top-k of 20.0% of groups would have kept")
    expect(view.locator(".matrix-line--what-if")).to_have_count(1 if expected else 0)
    above = view.locator(".matrix tbody tr").evaluate_all(
        "rows => rows.findIndex(row => row.classList.contains('matrix-line--what-if'))"
    )
    assert above == (len(expected) or -1)
    view.get_by_role("button", name="Reset to the run's filter").click()
    expect(view.locator("#filter-preview-summary")).to_contain_text("Top-p 0.9 of variance mass would have kept")


def test_a_cell_opens_its_trajectory_by_mouse_and_by_arrows(page: Page, run: Run) -> None:
    view = visit(page, run, "filter")
    cells = view.locator(".matrix a.heat")
    expect(cells).to_have_count(24)
    cells.first.focus()
    page.keyboard.press("ArrowRight")
    title = page.evaluate("document.activeElement.title")
    assert re.match(r"group \d, member 1: return", title)
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(rf"/runs/{run.pk}/trajectories/\d+/"))
    group = re.findall(r"group (\d)", title)[0]
    expect(page.locator("main")).to_contain_text(re.compile(rf"group {group}\b.*member 1\b", re.IGNORECASE | re.DOTALL))


def test_arrow_keys_cross_the_filter_threshold(page: Page, run: Run) -> None:
    view = visit(page, run, "filter")
    view.locator("#what-if select").select_option("top_k variance")
    slide = "(range, to) => { range.value = to; range.dispatchEvent(new Event('input', { bubbles: true })); }"
    view.locator("#what-if [name=value]").evaluate(slide, 0.5)
    expect(view.locator(".matrix-line--what-if")).to_have_count(1)  # below the third of six groups
    rows = view.locator(".matrix tbody tr:not(.matrix-line)")
    rows.first.locator("a.heat").nth(2).focus()
    for _ in range(5):
        page.keyboard.press("ArrowDown")
    expect(rows.last.locator("a.heat").nth(2)).to_be_focused()
    for _ in range(5):
        page.keyboard.press("ArrowUp")
    expect(rows.first.locator("a.heat").nth(2)).to_be_focused()
    view.locator(".matrix").evaluate("table => { table.dataset.former = ''; }")
    view.locator("#what-if [name=value]").evaluate(slide, 0.8)
    expect(view.locator(".matrix:not([data-former])")).to_be_visible()
    expect(rows.first.locator("a.heat").nth(2)).to_be_focused()  # in the table after it was redrawn


def test_response_format_curves_are_shown_by_environment(page: Page, run: Run) -> None:
    view = visit(page, run, "rollouts")
    expect(view.locator("#rollouts-summary")).to_contain_text("of responses are well-formed")
    curves = view.locator("#rollouts-curves .lines")
    expect(curves).to_have_count(6)
    expect(curves.nth(0).locator(".lines-key")).to_contain_text("95th percentile")
    expect(curves.nth(3).locator(".lines-key")).to_contain_text("Lake")
    expect(curves.nth(4).locator(".lines-plot polyline")).to_have_count(1)
    scrub(view, 1)
    expect(view.locator("#rollouts-read")).to_have_attribute("href", re.compile(r"\?step=2$"))


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_overflows_on_a_phone(run: Run, settings: Settings, view: str) -> None:
    with open_site(settings, width=390) as phone:
        phone.set_default_timeout(PATIENCE)
        shown = visit(phone, run, view)
        expect(shown.locator(".lines-plot svg").first).to_be_attached()
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.fixture
def recorded(transactional_db: None, settings: Settings, tmp_path: Path) -> RecordedRun:
    """A run as an engine writes it, without a step yet."""
    settings.RUNS_DIR = tmp_path / "runs"
    made = RecordedRun(name="still-heron-3", steps=60)
    made.deliver()
    return made


def test_changes_of_the_response_format_are_those_of_the_verdict(recorded: RecordedRun, settings: Settings) -> None:
    # after ten steps of baseline, and two more, responses of 24 tokens become 60 tokens long
    recorded.take_steps(12)
    for _ in range(3):
        recorded.step += 1
        metrics = {"rollout/success": 0.3, "rollout/response_tokens": 60.0, "rollout/parse_ok_rate": 1.0}
        recorded.emit("step_completed", metrics=metrics, tokens=1, seconds=1.0)
        recorded.report_verdict()
    recorded.deliver()
    with open_site(settings) as page:
        page.set_default_timeout(PATIENCE)
        view = visit(page, recorded.run, "rollouts")
        expect(view.locator("#rollouts-summary")).to_contain_text("First, at step 13, responses became 50% longer")
        expect(view.locator("#rollouts-signs li")).to_contain_text(["now 60 tokens"])


@pytest.mark.parametrize(
    ("settled", "steps", "expected"),
    [
        ({}, 0, "No data yet. Diagnostics come every 5 steps; the next at step 1."),
        ({"diagnostics": {"every": 0}}, 7, "Diagnostics are off in this run (diagnostics.every = 0)"),
        ({"rollout": {"think": False}}, 7, "Not applicable: this run has no thoughts"),
        ({"rollout": {"groups": 1}}, 2, "Not applicable: a step of this run has one problem"),
    ],
    ids=["not yet", "off", "no thoughts", "one problem"],
)
def test_no_data_yet_is_not_the_same_as_not_applicable(
    recorded: RecordedRun, settings: Settings, settled: dict[str, dict[str, Any]], steps: int, expected: str
) -> None:
    config = recorded.run.config
    for section, values in settled.items():
        config[section] |= values
    Run.objects.filter(pk=recorded.run.pk).update(config=config)
    recorded.take_steps(min(steps, 4))  # the builder records diagnostics at the fifth
    recorded.deliver()
    with open_site(settings) as page:
        page.set_default_timeout(PATIENCE)
        view = visit(page, recorded.run, "collapse")
        expect(view.locator("#collapse-why")).to_contain_text(expected)
        expect(view.locator("#collapse-body")).to_be_hidden()
        expect(view.locator("#collapse-gradients")).to_contain_text("diagnostics.gradients_every = 0")
        page.get_by_role("tab", name="Filter").click()
        reason = "The groups come with the first step" if steps == 0 else "did not keep the groups of its steps"
        expect(page.locator("#filter-why")).to_contain_text(reason)


def test_a_comparison_has_the_regime_map_of_each_run(page: Page, run: Run) -> None:
    page.goto(f"/compare/?runs={run.pk}&metrics=rollout/success")
    map_of = page.locator(f'[data-regimes-of="{run.pk}"]')
    map_of.scroll_into_view_if_needed()
    expect(map_of.locator("svg .regime-dot")).to_have_count(4)
    expect(map_of.locator("[data-words]")).to_have_text(re.compile(r"(at|since) step \d"))
    map_of.locator("svg .regime-dot").first.click()
    expect(page).to_have_url(re.compile(rf"/runs/{run.pk}/\?step=\d+.*#collapse$"))
