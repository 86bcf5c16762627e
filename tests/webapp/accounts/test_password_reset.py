"""A forgotten password is replaced by a link in a mail, or one that a command prints; nobody learns who has one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from email import message_from_string
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.test import Client
from pytest_django import Settings

from tests.webapp.accounts.queued import queued_tasks
from tests.webapp.alerts.receivers import Mailbox, mail_receiver
from webapp.accounts.models import Scope
from webapp.accounts.tokens import new_token, working_tokens
from workers.app import SEND_RESET_LINK
from workers.deliveries import send_reset_link

pytestmark = pytest.mark.django_db

RESET, LOGIN = "/accounts/password-reset/", "/accounts/login/"
OLD, NEW = "correct horse 7 battery", "nine purple trams at dawn"


@pytest.fixture
def mailbox(settings: Settings) -> Iterator[Mailbox]:
    with mail_receiver() as found:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", found.port
        yield found


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="ada@example.org", password=OLD)


def request_reset(client: Client, email: str) -> str:
    """The page that answers; what it queues is done by the worker's task."""
    page = client.post(RESET, {"email": email}, HTTP_HOST="127.0.0.1:8000").content.decode()
    for arguments in queued_tasks(SEND_RESET_LINK):
        send_reset_link(*arguments)
    return page


def link_in(mailbox: Mailbox) -> str:
    """The path of the link in the newest mail."""
    text = message_from_string(mailbox.letters[-1][2]).get_payload(decode=True).decode()
    return re.search(r"http://127\.0\.0\.1:8000(/accounts/password-reset/\S+)", text)[1]


def follow(client: Client, link: str, password: str = NEW, **more: str) -> str:
    """Opens the link, and chooses a password on the page that it leads to."""
    form = client.get(link, follow=True)
    path = form.redirect_chain[-1][0] if form.redirect_chain else link
    values = {"new_password1": password, "new_password2": password, **more}
    return client.post(path, values, follow=True).content.decode()


def signs_in(password: str) -> bool:
    return Client().login(username="ada", password=password)


def test_the_link_in_the_mail_replaces_the_password(client: Client, ada: User, mailbox: Mailbox) -> None:
    request_reset(client, "ada@example.org")
    assert mailbox.letters[0][1] == ["ada@example.org"]
    assert "The password was changed" in follow(client, link_in(mailbox))
    assert (signs_in(OLD), signs_in(NEW)) == (False, True)


def test_the_answer_is_the_same_for_an_address_of_nobody(client: Client, ada: User, mailbox: Mailbox) -> None:
    known = request_reset(client, "ada@example.org")
    unknown = request_reset(Client(), "eve@example.org")
    assert "is on its way" in known
    assert without_tokens(known) == without_tokens(unknown)
    assert len(mailbox.letters) == 1


def without_tokens(page: str) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page)


def test_a_link_works_once(client: Client, ada: User, mailbox: Mailbox) -> None:
    request_reset(client, "ada@example.org")
    follow(client, link_in(mailbox))
    assert "This link is not valid" in Client().get(link_in(mailbox), follow=True).content.decode()


def test_a_link_is_over_after_an_hour(client: Client, ada: User, mailbox: Mailbox, settings: Settings) -> None:
    request_reset(client, "ada@example.org")
    settings.PASSWORD_RESET_TIMEOUT = -1
    assert "This link is not valid" in client.get(link_in(mailbox), follow=True).content.decode()


def test_a_weak_password_is_refused_and_the_old_one_stays(client: Client, ada: User, mailbox: Mailbox) -> None:
    request_reset(client, "ada@example.org")
    assert "too short" in follow(client, link_in(mailbox), "short")
    assert signs_in(OLD)


def test_accounts_without_a_password_and_disabled_ones_get_no_mail(client: Client, mailbox: Mailbox) -> None:
    User.objects.create_user("links only", email="links@example.org")
    User.objects.create_user("gone", email="gone@example.org", password=OLD, is_active=False)
    request_reset(client, "links@example.org")
    request_reset(client, "gone@example.org")
    assert mailbox.letters == []


def test_a_new_password_ends_the_sessions_of_every_browser(client: Client, ada: User, mailbox: Mailbox) -> None:
    elsewhere = Client()
    elsewhere.force_login(ada)
    assert elsewhere.get("/runs/").status_code == 200
    request_reset(client, "ada@example.org")
    follow(client, link_in(mailbox))
    assert elsewhere.get("/runs/").status_code == 302


@pytest.mark.parametrize(("chosen", "left"), [({}, 1), ({"revoke_tokens": "on"}, 0)])
def test_tokens_of_the_api_stay_unless_revoking_them_is_chosen(
    client: Client, ada: User, mailbox: Mailbox, chosen: dict[str, str], left: int
) -> None:
    new_token(ada, name="laptop", scopes=[Scope.READ], lifetime=timedelta(days=7))
    request_reset(client, "ada@example.org")
    follow(client, link_in(mailbox), **chosen)
    assert working_tokens(ada) == left


def test_the_sixth_request_for_an_address_in_five_minutes_sends_nothing(
    client: Client, ada: User, mailbox: Mailbox
) -> None:
    pages = [request_reset(client, email) for email in ["ada@example.org"] * 6]
    assert ["Too many requests" in page for page in pages] == [False] * 5 + [True]
    assert len(mailbox.letters) == 5


def test_requests_do_not_use_up_the_attempts_to_sign_in(client: Client, ada: User, mailbox: Mailbox) -> None:
    for _ in range(5):
        request_reset(client, "ada@example.org")
    answer = client.post(LOGIN, {"username": "ada", "password": OLD})
    assert answer.status_code == 302


def test_without_a_mail_server_the_page_says_who_can_help(client: Client, settings: Settings) -> None:
    settings.EMAIL_HOST, settings.STARBOARD_CONTACT = "", "ml-infra@example.org"
    page = client.get(RESET).content.decode()
    assert "Ask ml-infra@example.org for a reset link" in page
    assert "password_reset_link" in page
    assert '<input type="email"' not in page


def test_the_sign_in_page_links_to_it(client: Client) -> None:
    assert f'href="{RESET}"' in client.get(LOGIN).content.decode()


def test_a_command_prints_a_link_that_works(client: Client, ada: User, settings: Settings) -> None:
    settings.PORT = 8000
    printed = StringIO()
    call_command("password_reset_link", "ada", stdout=printed)
    assert printed.getvalue().startswith("http://127.0.0.1:8000/accounts/password-reset/")
    follow(client, printed.getvalue().strip().removeprefix("http://127.0.0.1:8000"))
    assert signs_in(NEW)


def test_the_command_refuses_names_of_nobody_and_disabled_accounts(ada: User) -> None:
    with pytest.raises(CommandError, match="does not exist"):
        call_command("password_reset_link", "eve")
    User.objects.update(is_active=False)
    with pytest.raises(CommandError, match="is disabled"):
        call_command("password_reset_link", "ada")
