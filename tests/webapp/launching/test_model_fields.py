"""What the new-run form says of a model, at its fields."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.webapp.launching.test_new_run import CHECK, NEW, field_of, filled_in
from webapp.environments.models import EnvironmentVersion
from webapp.runs.models import Run

pytestmark = pytest.mark.django_db


def test_a_missing_model_is_an_error_at_its_field(browser: Client, lake: EnvironmentVersion) -> None:
    answer = browser.post(NEW, filled_in(lake, model__path="/nowhere/at/all"))
    assert "/nowhere/at/all" in field_of(answer, "model.path").error


def test_a_revision_of_a_model_that_has_none_is_an_error_at_its_field(
    browser: Client, lake: EnvironmentVersion
) -> None:
    error = field_of(browser.post(NEW, filled_in(lake, model__revision="v1.0")), "model.revision").error
    assert error == (
        "model.revision 'v1.0' is given, and the model tiny ships with Starboard, which has no revisions. "
        "Leave model.revision empty, or give the id of a model on the Hub as model.path."
    )
    posted = filled_in(lake, model__path="lab/agent", model__revision="../x")
    assert "must match the pattern" in field_of(browser.post(NEW, posted), "model.revision").error


def test_an_adapter_of_a_layer_that_the_model_lacks_is_an_error_at_its_field(
    browser: Client, lake: EnvironmentVersion
) -> None:
    posted = filled_in(lake, model__lora__rank="8", model__lora__targets="q_proj, query")
    field = field_of(browser.post(NEW, posted), "model.lora.targets")
    assert field.value == "q_proj, query"
    assert field.error.startswith("The model has no layer query. Use all-linear, or names from down_proj, ")
    assert not Run.objects.exists()


@pytest.mark.parametrize("path", ["x" * 300, "~nobody-of-that-name/model", "/etc/passwd"])
def test_an_invalid_path_is_a_field_error_unless_it_may_be_a_hub_name(
    browser: Client, lake: EnvironmentVersion, path: str
) -> None:
    answer = browser.post(CHECK, filled_in(lake, model__path=path))
    assert answer.status_code == 200
    assert ("model.path" in answer.json()["errors"]) == path.startswith(("~", "/"))
