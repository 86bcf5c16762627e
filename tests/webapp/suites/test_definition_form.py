"""The form that defines a suite, and the same definition as TOML."""

from __future__ import annotations

import re
import tomllib
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.config import EnvironmentConfig
from engine.suites.resolve import SuiteDraft
from engine.suites.shipped import definitions, read_draft
from tests.builders.suites import suite_evaluation
from webapp.environments.services import define
from webapp.suites import catalogue
from webapp.suites.definition_text import definition_of, plain_of, written
from webapp.suites.forms import SuiteForm
from webapp.suites.item_inputs import seeds_of, seeds_text
from webapp.suites.models import Suite, SuiteVersion

pytestmark = pytest.mark.django_db
ARMS = 'name = "arms"\n[[items]]\nname = "Arms"\nenvironment = { kind = "bandit" }\ncount = 4\n'
INPUT = re.compile(r'<input[^>]*?name="(?P<name>[^"]+)"[^>]*>')
AREA = re.compile(r'<textarea[^>]*?name="(?P<name>[^"]+)"[^>]*>\n?(?P<text>.*?)</textarea>', re.DOTALL)
SELECT = re.compile(r'<select[^>]*?name="(?P<name>[^"]+)"[^>]*>(?P<options>.*?)</select>', re.DOTALL)
OPTION = re.compile(r"<option(?: value=\"(?P<value>[^\"]*)\")?(?P<chosen> selected)?>(?P<text>[^<]*)</option>")
DISABLED = re.compile(r"<fieldset[^>]* disabled>.*?</fieldset>", re.DOTALL)


def fields_of(page: str) -> dict[str, str]:
    """What a browser would send of the form, without the button."""
    form = page[page.index('id="suite-form"') :]
    form = DISABLED.sub("", form[: form.index("</form>")])
    found: dict[str, str] = {}
    for one in INPUT.finditer(form):
        if 'type="checkbox"' in one[0]:
            if " checked" in one[0]:
                found[one["name"]] = "on"
            continue
        value = re.search(r'value="([^"]*)"', one[0])
        found[one["name"]] = unescape(value[1]) if value else ""
    found |= {one["name"]: unescape(one["text"]) for one in AREA.finditer(form)}
    for one in SELECT.finditer(form):
        options = list(OPTION.finditer(one["options"]))
        chosen = next((option for option in options if option["chosen"]), options[0])
        found[one["name"]] = unescape(chosen["text"] if chosen["value"] is None else chosen["value"])
    return found


def opened(browser: Client, path: str = "/suites/new/") -> dict[str, str]:
    return fields_of(browser.get(path).content.decode())


def posted(browser: Client, data: dict[str, str], path: str = "/suites/new/", **changes: str) -> Any:
    return browser.post(path, {**data, **{name.replace("__", "."): text for name, text in changes.items()}})


def error_at(page: str, name: str) -> str:
    found = re.search(rf'data-error="{re.escape(name)}"[^>]*>([^<]*)<', page)
    return unescape(found[1]) if found else ""


def test_a_suite_is_defined_by_filling_in_the_form(browser: Client) -> None:
    fields = opened(browser)
    assert (fields["items.0.choice"], fields["items.0.environment.parameters.size"]) == ("frozen_lake", "6")
    answer = posted(
        browser, fields, name="lakes", items__0__count="4", items__0__samples="2", items__0__temperature="0.9",
        items__0__environment__max_turns="7",
    )  # fmt: skip
    assert answer["Location"] == "/suites/lakes/"
    [item] = Suite.objects.get(name="lakes").latest.parsed().items
    assert (len(item.problems), item.samples, item.temperature) == (4, 2, 0.9)
    assert (item.environment.max_turns, item.environment.parameters) == (7, {"size": 6})


def test_each_error_is_at_its_field_and_nothing_is_lost(browser: Client) -> None:
    fields = opened(browser)
    answer = posted(
        browser, fields, name="Two Words", items__0__temperature="9", items__0__count="many",
        items__0__environment__parameters__size="300", description="kept",
    )  # fmt: skip
    page = answer.content.decode()
    assert answer.status_code == 422
    # parameters are checked first: of an environment without valid ones nothing else is known
    assert "must be" in error_at(page, "items.0.environment.parameters.size")
    again = fields_of(page)
    assert (again["description"], again["items.0.count"], again["name"]) == ("kept", "many", "Two Words")
    page = posted(browser, again, items__0__environment__parameters__size="5").content.decode()
    assert "must be 5 or less" in error_at(page, "items.0.temperature")
    assert "must be a whole number" in error_at(page, "items.0.count")
    assert "must match the pattern" in error_at(page, "name")
    assert not Suite.objects.exists()


def test_training_problems_are_refused_at_the_seeds_of_their_item(browser: Client) -> None:
    fields = opened(browser)
    page = posted(browser, fields, name="cheat", items__0__seeds="0-3").content.decode()
    assert re.search(
        r"Suite 'cheat' has training problems: in 'FrozenLake 6x6' those of seeds \d", error_at(page, "items.0.seeds")
    )
    page = posted(browser, fields, name="cheat", items__0__seeds="3-1").content.decode()
    assert "'3-1' is not a seed" in error_at(page, "items.0.seeds")
    assert not Suite.objects.exists()


def test_an_item_takes_its_parameters_from_an_environment_of_the_site(browser: Client, user: User) -> None:
    saved = define(
        name="Wide lake",
        config=EnvironmentConfig.model_validate({"kind": "frozen_lake", "parameters": {"size": 7}, "max_turns": 9}),
    )
    fields = opened(browser)
    choice = f"saved-{saved.pk}"
    page = posted(browser, fields, items__0__choice=choice, items__0__samples="3", action="take").content.decode()
    fields = fields_of(page)
    assert fields["items.0.environment.parameters.size"] == "7"
    assert (fields["items.0.environment.max_turns"], fields["items.0.samples"]) == ("9", "3")  # sampling stays
    assert posted(browser, fields, name="wide", items__0__count="2").status_code == 302
    # saved at once, without its fields in view: they are shown first
    answer = posted(browser, opened(browser), name="unseen", items__0__choice=choice)
    assert (answer.status_code, "Check them" in error_at(answer.content.decode(), "items.0.environment")) == (422, True)


def test_items_are_added_copied_and_removed(browser: Client) -> None:
    fields = fields_of(posted(browser, opened(browser), items__0__samples="5", action="copy-0").content.decode())
    assert (fields["items.1.name"], fields["items.1.samples"]) == ("FrozenLake 6x6 (copy)", "5")
    fields = fields_of(posted(browser, fields, action="add").content.decode())
    assert fields["items.2.choice"] == "frozen_lake"
    fields = fields_of(posted(browser, fields, items__1__name="Second", action="remove-0").content.decode())
    assert [fields[f"items.{index}.name"] for index in range(2)] == ["Second", "Item 3"]
    assert "items.2.name" not in fields
    same = posted(browser, fields, items__1__name="Second").content.decode()
    assert "Another item is called 'Second'" in error_at(same, "items.1.name")


def test_the_form_and_the_toml_show_the_same_definition(browser: Client) -> None:
    fields = opened(browser)
    page = posted(browser, fields, items__0__samples="4", action="toml").content.decode()
    fields = fields_of(page)
    item = tomllib.loads(fields["definition"])["items"][0]
    assert fields["side"] == "toml"
    assert (item["samples"], item["environment"]["parameters"]) == (4, {"size": 6})
    text = fields["definition"].replace("samples = 4", "samples = 2\nseeds = [5, 6, 7, 20]  # by hand")
    fields = fields_of(posted(browser, {**fields, "definition": text}, action="form").content.decode())
    assert (fields["side"], fields["items.0.samples"], fields["items.0.seeds"]) == ("form", "2", "5-7, 20")
    # nothing was changed in the form, so the text is the one that was written, with its comment
    assert "# by hand" in fields_of(posted(browser, fields, action="toml").content.decode())["definition"]
    changed = posted(browser, fields, items__0__samples="3", action="toml").content.decode()
    assert "# by hand" not in changed and "seeds = [5, 6, 7, 20]" in unescape(changed)


def test_toml_that_is_wrong_stays_as_it_is_with_the_reasons(browser: Client) -> None:
    fields = {"side": "toml", "definition": 'name = "a"\n[[items]]\nname = "x"\ntemperatur = 1\n'}
    page = posted(browser, fields, action="form").content.decode()
    assert fields_of(page)["definition"] == fields["definition"]
    assert "items.0.temperatur" in page and "unknown field" in page
    assert "is not TOML" in posted(browser, {"side": "toml", "definition": "name ="}, action="form").content.decode()


def test_a_frozen_suite_gets_its_next_version_and_the_page_says_so(browser: Client, user: User) -> None:
    version = catalogue.define(ARMS, user)
    path = "/suites/arms/edit/"
    assert "has not been evaluated yet: saving replaces it" in browser.get(path).content.decode()
    SuiteVersion.objects.filter(pk=version.pk).update(frozen_at=version.created_at)
    page = browser.get(path).content.decode()
    assert "Saving a change makes version 2" in page and "Save as version 2" in page
    answer = posted(browser, fields_of(page), path, items__0__temperature="1", name="another-name")
    assert answer["Location"] == "/suites/arms/"  # its name stays
    assert "Saved as version 2. Evaluations on version 1 keep it." in browser.get(answer["Location"]).content.decode()
    assert [one.number for one in version.suite.versions.all()] == [2, 1]
    unchanged = posted(browser, opened(browser, path), path)
    assert (unchanged.status_code, "that of the newest version" in unchanged.content.decode()) == (422, True)


def test_what_the_form_has_no_inputs_for_stays_as_it_is(user: User) -> None:
    text = """name = "odd"
[[items]]
name = "Lake"
count = 2
context = { type = "last_k_turns", turns = 2 }
[items.environment]
kind = "frozen_lake"
wrappers = [{ type = "step_penalty", penalty = -0.1 }]
limits = { step_seconds = 5.0 }
"""
    draft = SuiteDraft.model_validate(tomllib.loads(text))
    form = SuiteForm.of_draft(draft, user)
    assert form.items[0].also == "wrappers, limits"
    assert plain_of(SuiteDraft.model_validate(form.data)) == plain_of(draft)


def test_every_suite_that_ships_can_be_shown_in_the_form_and_written_again(user: User) -> None:
    user.is_staff = True
    for path in definitions():
        draft = read_draft(path)
        form = SuiteForm.of_draft(draft, user)
        assert plain_of(SuiteDraft.model_validate(form.data)) == plain_of(draft), path.name
        assert plain_of(SuiteDraft.model_validate(tomllib.loads(written(draft)))) == plain_of(draft), path.name


def test_an_imported_suite_is_edited_by_its_seeds(browser: Client) -> None:
    version = suite_evaluation({"Bandit": ["1", "0", "1", "1"]}).version
    assert "seeds = [0, 1, 2, 3]" in definition_of(version)
    assert opened(browser, f"/suites/{version.suite.name}/edit/")["items.0.seeds"] == "0-3"


def test_a_class_of_ones_own_is_neither_loaded_nor_shown_to_other_users(browser: Client) -> None:
    fields = opened(browser)
    page = posted(browser, fields, items__0__choice="os:system", items__0__shown="os:system").content.decode()
    assert "Choose one of the environments that are listed" in error_at(page, "items.0.environment")
    text = 'name = "a"\n[[items]]\nname = "x"\nenvironment = { kind = "os:system" }\n'
    page = posted(browser, {"side": "toml", "definition": text}, action="form").content.decode()
    assert "Only an administrator may configure this" in page


def test_seeds_are_written_in_short() -> None:
    assert seeds_of("1-3, 7 9\n20") == [1, 2, 3, 7, 9, 20]
    assert seeds_text([1, 2, 3, 7, 9, 20]) == "1-3, 7, 9, 20"
    assert seeds_of("") == []
    for wrong in ("a", "3-1", "-4", "1-99999999"):
        with pytest.raises(ValueError, match="seed"):
            seeds_of(wrong)
