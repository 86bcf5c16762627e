"""What an endpoint can do wrong, as a shell sees it: an exit status, a cause, a remedy, and never the key."""

from __future__ import annotations

import json
import logging
import pickle
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from engine.__main__ import main
from engine.errors import ConfigError
from engine.policies.api_key import ApiKey, key_from_environment
from tests.engine.evaluation.chat_server import Answer, Asked, completion, error, serving
from tests.engine.evaluation.conftest import KEY, KEY_NAME, evaluate_at

Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(lake: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> Run:
    """Evaluates at an address; returns the exit status and everything that was printed, logged or written."""

    def evaluate(address: str, *more: str, keyed: bool = True) -> tuple[int, str]:
        caplog.set_level(logging.DEBUG)
        keys = ["--key-env", KEY_NAME] if keyed else []
        arguments = ["--endpoint", address, "--model", "moves", "--episodes", "3", "--retries", "0", "--timeout", "2"]
        status = main(["evaluate", str(lake), *arguments, "--out", str(tmp_path / "out"), *keys, *more])
        printed = capfd.readouterr()
        written = [path.read_text() for path in (tmp_path / "out").glob("*.json*")]
        written += [str(parquet.read_table(path).to_pylist()) for path in (tmp_path / "out").glob("*.parquet")]
        return status, "\n".join([printed.out, printed.err, caplog.text, *written])

    return evaluate


def echo(asked: Asked, status: int) -> Answer:
    """A server that puts what it was sent into its error and its headers."""
    sent = asked.headers.get("Authorization", "nothing")
    return Answer(
        status=status,
        body=json.dumps({"error": {"message": f"bad: {sent} " * 20}}).encode(),
        headers={"X-Sent": sent, "Retry-After": "0"},
    )


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "rejected the key (status 401)"),
        (403, "rejected the key (status 403)"),
        (404, "no model 'moves' (404)"),
        (429, "rate limited (429)"),
        (500, "status 500"),
        (400, "rejected the request (status 400)"),
        (418, "is not a chat endpoint: it responds with status 418"),
    ],
)
def test_each_failure_has_its_message_and_none_has_the_key(status: int, message: str, run: Run) -> None:
    with serving(lambda asked, number: echo(asked, status)) as server:
        code, everything = run(server.address)
    assert code == 1
    assert message in everything and "[key]" in everything
    assert KEY not in everything and KEY[:12] not in everything


def test_an_evaluation_that_succeeds_shows_no_key_either(run: Run) -> None:
    with serving() as server:
        code, everything = run(server.address)
    assert server.asked[0].headers["Authorization"] == f"Bearer {KEY}"
    assert code == 0 and "results.jsonl" not in everything
    assert KEY not in everything and KEY_NAME not in everything


def test_without_a_key_the_remedy_names_the_option(run: Run) -> None:
    with serving(lambda asked, number: error(401, "who are you?")) as server:
        code, everything = run(server.address, keyed=False)
    assert code == 1 and "It requires a key: name the environment variable" in everything
    assert "Authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (Answer(body=b"<html>hello</html>", headers={"Content-Type": "text/html"}), "it returns a web page"),
        (Answer(body=b'{"hello": "world"}'), "its response has no `choices`"),
        (Answer(body=b'{"choices": [{"text": "Up"}]}'), "its response has no `message` in the first choice"),
        (Answer(body=b'{"choices": [{"message": {"content": ["Up"]}}]}'), "a `content` that is not text"),
        (Answer(body=b"[1, 2"), "a response that is not JSON"),
        (Answer(status=405), "it responds with status 405"),
    ],
)
def test_an_address_that_is_not_a_chat_endpoint_is_reported_as_such(answer: Answer, message: str, run: Run) -> None:
    with serving(lambda asked, number: answer) as server:
        code, everything = run(server.address)
    assert code == 1 and message in everything


def test_an_unreachable_endpoint_is_reported(run: Run) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        code, everything = run(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
    assert code == 1
    assert "cannot be reached: " in everything and "Check that it is running" in everything


def test_nobody_waits_for_an_address_where_nobody_ever_listened(lake: Path) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
        began = time.monotonic()
        assert main(["evaluate", str(lake), "--endpoint", address, "--model", "m", "--retries", "6"]) == 1
    assert time.monotonic() - began < 10  # six retries would take half a minute


def test_requests_to_a_slow_endpoint_time_out(run: Run) -> None:
    with serving(lambda asked, number: Answer(delay=0.5, body=completion("no"))) as server:
        code, everything = run(server.address, "--timeout", "0.1")
    assert code == 1 and "no response within 0.1 s" in everything


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed_so_no_other_host_sees_the_key(status: int, run: Run) -> None:
    with serving() as other:
        answer = Answer(status=status, headers={"Location": f"{other.address}/chat/completions?k=1"})
        with serving(lambda asked, number: answer) as server:
            code, everything = run(server.address)
    assert code == 1 and "redirects to 127.0.0.1; redirects are not followed" in everything
    assert other.asked == [] and len(server.asked) <= 3


def test_a_redirect_to_an_invalid_address_is_refused_too(run: Run) -> None:
    with serving(lambda asked, number: Answer(status=302, headers={"Location": "http://[::"})) as server:
        assert "redirects to an invalid address" in run(server.address)[1]


def test_words_that_would_steer_a_terminal_do_not(run: Run) -> None:
    with serving(lambda asked, number: error(404, "\x1b[2J\x07no\nsuch\tmodel")) as server:
        code, everything = run(server.address)
    assert code == 1 and "(404): [2J no such model" in everything and "\x1b" not in everything


@pytest.mark.parametrize(
    "address", ["ftp://host/v1", "host:8000/v1", "http://user:hunter2@host/v1", "http://host/v1?key=hunter2", "http://"]
)
def test_addresses_that_are_none_or_hold_secrets_are_refused_unrepeated(address: str, run: Run) -> None:
    code, everything = run(address)
    assert code == 2 and "hunter2" not in everything and "error: The endpoint" in everything


@pytest.mark.parametrize("name", [KEY, "sk_live_looks_like_a_name", "EMPTY", "SPLIT"])
def test_a_key_given_by_mistake_in_place_of_its_name_is_not_repeated(
    name: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMPTY", " \n")
    monkeypatch.setenv("SPLIT", "sk-one\r\nX-Other: two")
    code, everything = run("http://127.0.0.1:1/v1", "--key-env", name)
    assert code == 2 and "API key" in everything
    assert name not in everything and "sk-one" not in everything


def test_a_key_can_be_neither_printed_nor_pickled() -> None:
    key = key_from_environment(KEY_NAME)
    assert f"{key} {key!r} {[key]}".count("ApiKey(hidden)") == 3
    with pytest.raises(TypeError, match="must not be pickled"):
        pickle.dumps(key)
    assert not ApiKey() and repr(ApiKey()) == "ApiKey(none)"
    with pytest.raises(ConfigError):
        key_from_environment("STARBOARD_NO_SUCH_KEY")


def test_the_first_refusal_ends_the_evaluation() -> None:
    with serving(lambda asked, number: error(401, "no")) as server:
        outcome = evaluate_at(server, episodes=50, concurrency=2)
    assert len(server.asked) <= 6  # those that were in progress
    assert outcome.failure is not None and outcome.unscored == 50


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--endpoint", "http://127.0.0.1:1/v1"], "needs the model's name"),
        (["--key-env", KEY_NAME], "--key-env is only for an endpoint"),
        (["--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--concurrency", "0"], "out of range"),
        (["--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--timeout", "nan"], "out of range"),
    ],
)
def test_invalid_options_are_refused(
    arguments: list[str], message: str, lake: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(lake), *arguments]) == 2
    assert message in capsys.readouterr().err
