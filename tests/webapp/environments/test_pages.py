"""The pages of environments, for signed-in and anonymous users and with invalid input."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse

from engine.config import EnvironmentConfig
from engine.environments import ENVIRONMENTS, environment_class
from tests.builders.runs import build_run
from tests.hostile import short
from webapp.environments.forms import EnvironmentForm
from webapp.environments.models import EnvironmentDefinition, EnvironmentVersion
from webapp.environments.services import define_unmeasured
from webapp.forms.fields import all_fields

NEW = "/environments/new/?kind=frozen_lake"
DEFAULT_KINDS = sorted(kind for kind in ENVIRONMENTS if {} in environment_class(kind).examples.values())


def form_data(kind: str = "frozen_lake", **changes: Any) -> dict[str, Any]:
    """The form data that a browser sends when the form is saved unchanged, with `changes`."""
    form = EnvironmentForm(kind=kind)
    sent = {one.name: one.value for one in all_fields(form.nodes) if one.kind != "bool" or one.ticked}
    return {**sent, "name": "A lake", "kind": kind, **changes}


def test_the_list_shows_each_environment_with_its_version_and_use(browser: Client, lake: EnvironmentVersion) -> None:
    build_run(version=lake)
    page = browser.get("/environments/").content.decode()
    assert "Lake" in page
    assert re.search(r"FrozenLake <span[^>]*>1</span>", page)
    assert "version 1 · 1 run" in page


def test_an_empty_list_explains_the_next_step(browser: Client) -> None:
    assert "No environments yet" in browser.get("/environments/").content.decode()


def test_a_run_started_from_an_environment_page_uses_the_version_shown(browser: Client) -> None:
    EnvironmentVersion.objects.create(
        definition=EnvironmentDefinition.objects.create(name="First"), config={"kind": "bandit"}
    )
    other = EnvironmentDefinition.objects.create(name="Other")
    versions = [
        EnvironmentVersion.objects.create(definition=other, number=number, config={"kind": "bandit"})
        for number in (1, 2)
    ]
    page = browser.get(f"/environments/{other.pk}/?version=1").content.decode()
    start = re.search(r'href="(/runs/new/[^"]*)"', page)
    assert start is not None
    assert browser.get(start[1]).context["chosen"] == versions[0]


def test_archived_environments_are_listed_separately(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(reverse("environments:archive", args=[lake.definition_id]))
    assert browser.get("/environments/").context["groups"] == []
    [group] = browser.get("/environments/?archived=1").context["groups"]
    assert [card["version"] for card in group["cards"]] == [lake]


@pytest.mark.parametrize(
    "kind", sorted(kind for kind in ENVIRONMENTS if {} in environment_class(kind).examples.values())
)
def test_saving_the_unchanged_form_gives_the_kind_s_defaults(browser: Client, kind: str) -> None:
    answer = browser.post(f"/environments/new/?kind={kind}", form_data(kind))
    version = EnvironmentVersion.objects.get()
    assert answer.status_code == 302
    assert (version.number, version.kind, version.definition.name) == (1, kind, "A lake")
    assert version.parsed().tag == "A lake"


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("max_turns", "0", "1 or more"),
        ("max_turns", "many", "whole number"),
        ("format_penalty", "1", "0 or less"),
        ("parameters.size", "99", "12 or less"),
        ("parameters.frozen_probability", "0.2", "greater than 0.2"),
        ("parameters.format", "braille", "must be one of '"),
        ("parameters.symbols", "{oops", "not JSON"),
        ("name", "", "required"),
    ],
)
def test_invalid_values_are_refused_at_their_field_and_kept(
    browser: Client, field: str, value: str, reason: str
) -> None:
    answer = browser.post(NEW, form_data(**{field: value}))
    form = answer.context["form"]
    assert answer.status_code == 400
    assert reason in form.errors[field]
    assert form.field(field).value == value
    assert not EnvironmentDefinition.objects.exists()


def test_a_budget_too_small_for_any_problem_is_refused_with_the_reason(browser: Client) -> None:
    sent = form_data("sokoban", max_turns="1", max_actions_per_turn="1", **{"parameters.depth": "30"})
    answer = browser.post("/environments/new/?kind=sokoban", sent)
    assert answer.status_code == 400
    reason = answer.context["form"].errors["max_actions"]
    assert "No problem can be solved with this budget: 0% of 20 problems can be solved in 1 action;" in reason
    assert reason.endswith("Raise max turns or max actions per turn.")


def test_limits_are_folded_until_they_differ_from_the_kinds_own(browser: Client, lake: EnvironmentVersion) -> None:
    edit = reverse("environments:edit", args=[lake.definition_id])
    folded = '<details class="panel environment-limits">'
    assert folded in browser.get(edit).content.decode()
    assert folded in browser.get("/environments/new/?kind=lean").content.decode()  # whose own limits are longer
    sent = form_data(name="Lake", **{"limits.step_seconds": "2.5"})
    assert browser.post(edit, sent).status_code == 302
    limits = lake.definition.latest.parsed().limits
    assert (limits.step_seconds, limits.reset_seconds) == (2.5, 60.0)
    assert '<details class="panel environment-limits" open>' in browser.get(edit).content.decode()
    assert "Step seconds" in browser.get(f"/environments/{lake.definition_id}/").content.decode()


def test_an_invalid_limit_is_refused_at_its_field(browser: Client) -> None:
    answer = browser.post(NEW, form_data(name="Ice", **{"limits.step_seconds": "0"}))
    assert "greater than 0" in answer.context["form"].errors["limits.step_seconds"]
    assert '<details class="panel environment-limits" open>' in answer.content.decode()


def test_a_duplicate_name_is_refused(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(NEW, form_data(name="Lake"))
    assert "There is already an environment called Lake" in answer.context["form"].errors["name"]


def test_an_unknown_kind_falls_back_to_the_first_lesson(browser: Client) -> None:
    assert browser.get("/environments/new/?kind=os.system").context["kind"]["kind"] == "frozen_lake"


def test_saving_an_edit_reports_the_resulting_version(browser: Client, lake: EnvironmentVersion) -> None:
    build_run(version=lake)
    edit = reverse("environments:edit", args=[lake.definition_id])
    assert "Saving creates version 2" in browser.get(edit).content.decode()
    answer = browser.post(edit, form_data(name="Lake", max_turns="4"))
    words = [str(message) for message in get_messages(answer.wsgi_request)]
    assert words == ["Saved as version 2. Runs that used version 1 keep it."]
    assert lake.definition.latest.parsed().max_turns == 4


def test_a_renamed_environment_keeps_its_tag(browser: Client, lake: EnvironmentVersion) -> None:
    browser.post(reverse("environments:edit", args=[lake.definition_id]), form_data(name="Ice", max_turns="4"))
    assert (lake.definition.latest.parsed().tag, EnvironmentDefinition.objects.get().name) == ("Lake", "Ice")


def test_the_detail_page_shows_differences_between_versions(browser: Client, lake: EnvironmentVersion) -> None:
    build_run(version=lake)
    browser.post(reverse("environments:edit", args=[lake.definition_id]), form_data(name="Lake", max_turns="4"))
    page = browser.get(f"/environments/{lake.definition_id}/?version=2&against=1")
    assert [(row.key, row.values) for row in page.context["differences"].differing if row.key == "max_turns"] == [
        ("max_turns", ["5", "4"])
    ]


def test_the_definition_starts_with_what_differs_from_the_kind_and_leaves_out_blanks(browser: Client) -> None:
    config = EnvironmentConfig(kind="webshop", tag="Shop", parameters={"num_products": 100}, max_turns=3)
    version = define_unmeasured(name="Shop", config=config)
    page = browser.get(f"/environments/{version.definition_id}/").content.decode()
    rows = re.findall(r'<tr><th scope="row"[^>]*>([^<]+)</th><td><span class="mono">([^<]*)</span>([^\n]*)</td>', page)
    assert [(label, value) for label, value, _ in rows[:2]] == [("Num products", "100"), ("Max turns", "3")]
    assert "default 0" in rows[0][2]
    assert ("Goals", "synthetic", "") in rows
    assert "Directory" not in [label for label, _, _ in rows]


def test_an_unknown_version_number_shows_the_newest(browser: Client, lake: EnvironmentVersion) -> None:
    page = browser.get(f"/environments/{lake.definition_id}/?version=-1&against=x")
    assert (page.status_code, page.context["shown"]) == (200, lake)


@pytest.mark.parametrize("name", short(60))
def test_hostile_names_and_instructions_are_escaped(browser: Client, name: str) -> None:
    browser.post(NEW, form_data(name=name, instruction=name))
    definition = EnvironmentDefinition.objects.first()
    if definition is None:  # Django's form refuses some control characters outright
        return
    for address in ("/environments/", f"/environments/{definition.pk}/", f"/environments/{definition.pk}/edit/"):
        page = browser.get(address).content.decode()
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert address.endswith("/edit/") or "\u202e" not in page  # inputs keep the submitted text


@pytest.mark.parametrize("name", ["list", "new"])
def test_anonymous_users_are_redirected_to_sign_in(client: Client, db: None, name: str) -> None:
    answer = client.get(reverse(f"environments:{name}"))
    assert (answer.status_code, answer["Location"].split("?")[0]) == (302, reverse("accounts:login"))


@pytest.mark.parametrize("name", ["detail", "edit"])
def test_pages_of_an_unknown_environment_are_404(browser: Client, name: str) -> None:
    assert browser.get(reverse(f"environments:{name}", args=[10**30])).status_code == 404


def test_pages_refuse_other_http_methods(browser: Client, lake: EnvironmentVersion) -> None:
    pk = lake.definition_id
    assert browser.post("/environments/").status_code == 405
    assert browser.delete("/environments/new/").status_code == 405
    assert browser.post(f"/environments/{pk}/").status_code == 405
    assert browser.get(f"/environments/{pk}/archive/").status_code == 405
