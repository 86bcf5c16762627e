"""`make run` with real processes on loopback: what starts, what is refused, what restarts, and that nothing is left."""

from __future__ import annotations

import os
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener

import psutil
import pytest

from tests.launch.installation import Installation, free_port

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    with Installation(tmp_path_factory.mktemp("starboard") / "data") as running:
        running.pause_training()
        yield running


def wait_until(is_so: Callable[[], object], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_the_printed_link_signs_in_once(one: Installation) -> None:
    browser = build_opener(HTTPCookieProcessor(CookieJar()))
    opened = browser.open(one.link())
    assert opened.status == 200
    assert "token" not in opened.url
    with pytest.raises(HTTPError, match="403"):
        build_opener().open(one.link())


def test_the_first_start_queues_one_run(one: Installation) -> None:
    with sqlite3.connect(f"file:{one.data_dir}/starboard.sqlite3?mode=ro", uri=True) as database:
        assert database.execute("select name from runs_run").fetchall() == [("Starter run",)]


def test_the_private_redis_has_no_port_and_a_directory_readable_only_by_its_owner(one: Installation) -> None:
    redis = psutil.Process(one.children()["redis"])
    assert [c for c in redis.net_connections("inet") if c.status == psutil.CONN_LISTEN] == []
    assert (one.data_dir / "redis").stat().st_mode & 0o777 == 0o700


def test_the_site_listens_only_on_loopback_and_does_not_identify_its_server(one: Installation) -> None:
    web = psutil.Process(one.children()["web"])
    listening = {c.laddr for c in web.net_connections("inet") if c.status == psutil.CONN_LISTEN}
    assert listening == {("127.0.0.1", one.port)}
    assert one.get("/healthz").headers["Server"] is None


def test_a_second_start_in_the_same_directory_reports_cause_and_remedy(one: Installation) -> None:
    done = one.try_another(one.data_dir, free_port())
    assert done.returncode == 1
    assert f"already runs in {one.data_dir}" in done.stderr
    assert "make link" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_in_use_is_reported_with_a_remedy(one: Installation, tmp_path: Path) -> None:
    done = one.try_another(tmp_path / "other", one.port)
    assert done.returncode == 1
    assert f"Port {one.port} of 127.0.0.1 is in use" in done.stderr
    assert f"make run PORT={one.port + 1}" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_invalid_setting_is_named_without_a_traceback(one: Installation, tmp_path: Path) -> None:
    os.environ["STARBOARD_ORIGINS"] = "example.org"
    try:
        done = one.try_another(tmp_path / "other", free_port())
    finally:
        del os.environ["STARBOARD_ORIGINS"]
    assert done.returncode == 1
    assert "STARBOARD_ORIGINS has 'example.org'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_process_that_exits_is_restarted(one: Installation) -> None:
    before = one.children()["web"]
    os.kill(before, signal.SIGKILL)
    wait_until(lambda: one.children().get("web", before) != before)
    wait_until(lambda: answers(one))
    assert "web ended unexpectedly" in one.output()


def test_a_site_that_keeps_ending_takes_nothing_else_with_it(one: Installation) -> None:
    worker = one.children()["worker"]
    for _ in range(4):
        before = one.children()["web"]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda before=before: one.children().get("web", before) != before, seconds=60)
    assert one.children()["worker"] == worker
    wait_until(lambda: answers(one), seconds=60)


def answers(one: Installation) -> bool:
    try:
        return one.get("/healthz").status == 200
    except OSError:
        return False


def test_ctrl_c_stops_everything_and_the_next_start_keeps_the_data(one: Installation) -> None:
    pids = one.children()
    assert sorted(pids) == ["redis", "web", "worker"]
    wait_until(one.engines, seconds=60)
    assert one.stop() == 0
    assert all(gone(pid) for pid in pids.values())
    assert one.engines() == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", one.port)) != 0
    one.start()
    with sqlite3.connect(one.data_dir / "starboard.sqlite3") as database:
        assert database.execute("select count(*) from runs_run").fetchone() == (1,)


def test_when_the_launcher_is_killed_its_children_end_too(one: Installation) -> None:
    pids = one.children()
    one.process.kill()
    one.end_engines()  # they keep running, for the next start to take over
    wait_until(lambda: all(gone(pid) for pid in pids.values()))
