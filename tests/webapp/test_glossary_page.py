"""The glossary as a page, and what the palette finds of it."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

from engine.glossary.sources import SOURCES, source_of
from engine.glossary.terms import TERMS
from engine.metrics import GLOSSARY
from webapp.glossary_page import ADVICE, sections
from webapp.launching.models import SavedPreset
from webapp.launching.presets import run_presets

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    client = Client()
    client.force_login(User.objects.create_user("ada"))
    return client


def test_the_page_has_every_metric_with_its_formula_source_and_advice(browser: Client) -> None:
    text = browser.get("/glossary/").content.decode()
    assert text.count('class="panel glossary-entry"') == len(GLOSSARY) + len(TERMS)
    assert 'id="divergence"' in text  # linked from the page that compares trajectories
    start = text.index('id="policy-kl"')
    entry = text[start : text.index("</article>", start)]
    assert "What bad looks like" in entry
    assert "Lower optimizer.learning_rate" in entry  # the advice of the rule kl_high
    mutual = text[text.index('id="collapse-mi-sequence"') :]
    assert "arXiv 2604.06268" in mutual[: mutual.index("</article>")]


def test_each_metric_has_an_address_of_its_own() -> None:
    anchors = [entry.anchor for section in sections() for entry in section["entries"]]
    anchors += [term.key for term in TERMS]
    assert len(set(anchors)) == len(anchors)


@pytest.mark.parametrize("start", SOURCES)
def test_a_source_is_that_of_a_metric(start: str) -> None:
    assert any(name.startswith(start) for name in GLOSSARY)


def test_of_two_sources_the_longer_name_counts() -> None:
    assert source_of("policy/clip_fraction_low") == "arXiv 1912.09729"
    assert source_of("policy/clip_fraction") == "arXiv 1707.06347"
    assert source_of("time/step") == ""


def test_advice_is_about_metrics_of_the_glossary() -> None:
    assert set(ADVICE) <= set(GLOSSARY)


def test_the_palette_finds_metrics_presets_and_those_of_ones_own(browser: Client) -> None:
    config = run_presets()["starter"].data
    own = SavedPreset.objects.create(owner=User.objects.get(), name="mine", config=config)
    SavedPreset.objects.create(owner=User.objects.create_user("eve"), name="theirs", config=config)
    found = browser.get("/palette/").json()
    assert {"title": "Gradient norm", "name": "optim/grad_norm", "anchor": "optim-grad-norm"} in found["metrics"]
    titles = {preset["key"]: preset["title"] for preset in found["presets"]}
    assert titles["starter"] == "Starter"
    assert titles[f"saved-{own.pk}"] == "mine"
    assert "theirs" not in titles.values()
