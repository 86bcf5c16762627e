"""What the new-run form says of a model, at its fields."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from engine.config import LoraSection, ModelConfig
from engine.policies.adapter import add_adapter, save_adapter
from tests.engine.models import save_small_model, small_model
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
    assert field.error.startswith("The model has no linear layer query. Use all-linear, or names from down_proj, ")
    assert not Run.objects.exists()


def test_an_adapter_to_start_from_is_read_in_the_configured_folders_only(
    browser: Client, lake: EnvironmentVersion, settings: Settings, tmp_path: Path
) -> None:
    settings.STARBOARD_MODEL_FOLDERS = [tmp_path / "models"]
    base = save_small_model(tmp_path / "models/base")
    model, lora = small_model(), LoraSection(rank=4, alpha=8.0)
    add_adapter(model, lora)
    for folder in ("models/adapter", "elsewhere"):
        save_adapter(model, lora, tmp_path / folder, base=ModelConfig(path="lab/base"))

    def errors(adapter: str, **lora: str) -> dict[str, str]:
        posted = filled_in(lake, model__path=str(base), model__adapter=adapter, **lora)
        found: dict[str, str] = browser.post(CHECK, posted).json()["errors"]
        return found

    own = str(tmp_path / "models/adapter")
    assert errors(own) == errors(own, model__lora__rank="4", model__lora__alpha="8") == {}
    assert [*errors(own, model__lora__rank="8", model__lora__alpha="8")] == ["model.lora.rank"]
    assert "does not exist" in errors(str(tmp_path / "models/gone"))["model.adapter"]
    for path in (str(tmp_path / "elsewhere"), str(tmp_path / "nothing"), "lab/adapter"):
        assert errors(path) == {
            "model.adapter": f"{path} is not in a folder of models of this installation. "
            f"Give a directory in {tmp_path / 'models'} (STARBOARD_MODEL_FOLDERS)."
        }


@pytest.mark.parametrize("path", ["x" * 300, "~nobody-of-that-name/model", "/etc/passwd"])
def test_an_invalid_path_is_a_field_error_unless_it_may_be_a_hub_name(
    browser: Client, lake: EnvironmentVersion, path: str
) -> None:
    answer = browser.post(CHECK, filled_in(lake, model__path=path))
    assert answer.status_code == 200
    assert ("model.path" in answer.json()["errors"]) == path.startswith(("~", "/"))
