"""Downloads of a leaderboard, which spreadsheets and Markdown viewers open safely."""

from __future__ import annotations

import csv
import io
import json

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.suites import document, suite_evaluation, suite_version
from tests.hostile import short
from tests.webapp.security.page_reader import read_page
from webapp.leaderboard.entries import add_entry
from webapp.leaderboard.exports import escaped, safe_cell
from webapp.leaderboard.models import Entry

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(client: Client) -> Client:
    client.force_login(User.objects.create_user("ada"))
    return client


def listed(*names: str) -> list[Entry]:
    version = suite_version(document(problems=4))
    found = []
    for index, name in enumerate(names):
        entry = add_entry(suite_evaluation({"Bandit": list("1100")}, version=version, model=f"/models/{index}"))
        entry.name = name
        entry.save()
        found.append(entry)
    return found


def test_csv_has_a_row_each_with_the_ends_of_intervals(browser: Client) -> None:
    listed("tiny")
    answer = browser.get("/leaderboard/export.csv?suite=bandits")
    assert answer["Content-Disposition"] == 'attachment; filename="leaderboard-bandits-v1.csv"'
    row = next(csv.DictReader(io.StringIO(answer.content.decode())))
    assert (row["name"], row["success"], row["suite"], row["scored"]) == ("tiny", "0.5", "bandits v1", "4")
    assert float(row["success_low"]) == pytest.approx(0.15004, abs=1e-4)  # Wilson, 2 of 4
    assert row["hours"] == ""  # unknown, not zero


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =cmd|' /C calc'!A0", "\n=1"])
def test_no_cell_begins_with_a_formula(text: str) -> None:
    assert str(safe_cell(text)).startswith(("'", "[CR]"))
    assert safe_cell(-0.5) == -0.5  # numbers are numbers


def test_hostile_names_are_harmless_in_every_form(browser: Client) -> None:
    entries = listed(*(name[:200] for name in short(80)[:40]))
    for row in csv.reader(io.StringIO(browser.get("/leaderboard/export.csv?suite=bandits").content.decode())):
        assert not row[1].startswith(("=", "+", "-", "@"))
    markdown = browser.get("/leaderboard/export.md?suite=bandits").content.decode()
    assert len([line for line in markdown.splitlines() if line.startswith("|")]) == len(entries) + 2
    assert "<" not in markdown.replace(r"\<", "")
    assert len(json.loads(browser.get("/leaderboard/export.json?suite=bandits").content)["rows"]) == len(entries)
    for address in (
        "/leaderboard/?suite=bandits",
        "/leaderboard/?suite=bandits&as=configuration",
        f"/leaderboard/pair/?first={entries[0].pk}&other={entries[1].pk}",
    ):
        answer = browser.get(address)
        assert answer.status_code == 200
        assert read_page(answer.content.decode()).dangers == []


def test_markdown_shows_a_name_as_it_is() -> None:
    assert escaped("a|b\n*c* [d](javascript:e)") == r"a\|b \*c\* \[d\]\(javascript:e\)"


def test_markdown_is_a_table_with_its_suite_and_corrections(browser: Client) -> None:
    first, _ = listed("tiny", "other")
    text = browser.get("/leaderboard/export.md?suite=bandits").content.decode()
    lines = text.splitlines()
    assert lines[0].startswith("| Rank | Ties | Model | Seeds | Success | Return |")
    assert "| 1–2 | a | tiny | 1 | 50.0% (15.0–85.0%) |" in lines[2]
    assert "Suite bandits v1, comparability key" in text
    assert "p adjusted (Holm) for the one pair of the 2 rows." in text
    assert "Differences are to tiny." in text
    next_version = suite_version(document(samples=2).model_copy(update={"version": 2}))
    for _ in range(2):
        add_entry(suite_evaluation({"Bandit": ["10"] * 4}, version=next_version))
    text = browser.get(f"/leaderboard/export.md?suite=bandits&baseline={first.pk}").content.decode()
    assert "2 entries evaluated under other conditions left out." in text


def test_every_row_of_a_csv_says_what_differences_are_to_and_p_is_adjusted_for(browser: Client) -> None:
    first, other = listed("tiny", "other")
    answer = browser.get(f"/leaderboard/export.csv?suite=bandits&baseline={other.pk}")
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["evaluation"] for row in rows] == [str(first.pk), str(other.pk)]
    assert {row["baseline"] for row in rows} == {str(other.pk)}
    assert {row["adjusted"] for row in rows} == {
        "p adjusted (Holm): ranks and ties for the one pair of the 2 rows; differences to the pinned baseline for 1 "
        "comparison"
    }


def test_other_forms_and_suites_are_not_found(browser: Client) -> None:
    listed("tiny")
    assert browser.get("/leaderboard/export.exe?suite=bandits").status_code == 404
    assert browser.get("/leaderboard/export.csv?suite=none").status_code == 404
