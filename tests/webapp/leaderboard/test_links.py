"""Public links show one leaderboard to anyone, and nothing else, until they are revoked."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client

from tests.builders.runs import build_run
from tests.builders.suites import document, suite_evaluation, suite_version
from webapp.leaderboard import links
from webapp.leaderboard.entries import add_entry
from webapp.leaderboard.models import PublicLink
from webapp.suites.models import PolicyKind

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


def listed(name: str = "bandits") -> None:
    run = build_run(name="calm-otter")
    version = suite_version(document(name, problems=4))
    for step, solved in ((10, "1100"), (20, "1110")):
        add_entry(
            suite_evaluation(
                {"Bandit": list(solved)}, version=version, policy=PolicyKind.CHECKPOINT, run=run, run_name=run.name,
                step=step, training_seed=1,
            )
        )  # fmt: skip


def make_link(user: User, query: str = "suite=bandits") -> str:
    client = Client()
    client.force_login(user)
    page = client.post("/leaderboard/links/", {"query": query}).content.decode()
    found = re.search(r"http://[^<]*(/public/leaderboard/[^<]+)</pre>", page)
    assert found, page
    return found[1]


def test_anyone_with_the_link_sees_the_leaderboard_and_no_other_address(ada: User) -> None:
    listed()
    address = make_link(ada)
    answer = Client().get(address)
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "calm-otter, step 20" in page
    assert "50.0%" in page
    inside = {
        link for link in re.findall(r'href="([^"]*)"', page) if not link.startswith(("/static/", "#", "?format="))
    }
    assert inside <= {"/"}  # the name of the site, which leads to the sign-in
    assert answer["X-Robots-Tag"] == "noindex, nofollow"
    assert answer["Cache-Control"] == "private, no-store"


def test_it_shows_what_it_was_made_of_whatever_the_visitor_asks_for(ada: User) -> None:
    listed()
    listed("others")
    address = make_link(ada, "suite=bandits&q=step+10")
    page = Client().get(f"{address}?suite=others&q=&sort=name&baseline=1").content.decode()
    assert "step 10" in page
    assert "step 20" not in page
    assert "others" not in page
    assert "step 20" not in Client().get(f"{address}?format=csv").content.decode()


def test_a_revoked_link_and_a_wrong_one_are_not_found(ada: User) -> None:
    listed()
    address = make_link(ada)
    other = Client()
    other.force_login(User.objects.create_user("bob"))
    pk = PublicLink.objects.get().pk
    other.post(f"/leaderboard/links/{pk}/revoke/")
    assert Client().get(address).status_code == 200  # it is not bob's
    own = Client()
    own.force_login(ada)
    own.post(f"/leaderboard/links/{pk}/revoke/")
    assert Client().get(address).status_code == 404
    assert Client().get("/public/leaderboard/wrong/").status_code == 404
    assert Client().get("/public/leaderboard/%C3%A9/").status_code == 404


def test_the_secret_is_stored_as_a_hash_and_shown_once(ada: User) -> None:
    listed()
    secret = make_link(ada).rstrip("/").rpartition("/")[2]
    assert len(secret) == 32  # 192 bits
    row = PublicLink.objects.get()
    assert secret not in str([getattr(row, field.attname) for field in row._meta.concrete_fields])
    client = Client()
    client.force_login(ada)
    assert secret not in client.get("/leaderboard/links/").content.decode()


def test_a_link_needs_a_session_to_be_made_and_has_a_limit(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    listed()
    assert Client().post("/leaderboard/links/", {"query": "suite=bandits"}).status_code == 302
    assert not PublicLink.objects.exists()
    monkeypatch.setattr("webapp.leaderboard.link_views.MOST", 1)
    make_link(ada)
    client = Client()
    client.force_login(ada)
    assert client.post("/leaderboard/links/", {"query": "suite=bandits"}).status_code == 422
    assert links.working_links(ada) == 1
