"""Which Host, Origin and Sec-Fetch-Site are accepted. The server listens on 127.0.0.1:8000 and has its loopback names.

Each row is one request; `PASS` means that it reached the site, which is an echo behind the guard.
"""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from tests.webapp.security.wire import Header, http, socket
from webapp.security.authorities import trusted_hosts, trusted_origins
from webapp.security.guard import OriginGuard

PASS = 204
OURS = "127.0.0.1:8000"
OUR_ORIGIN = "http://127.0.0.1:8000"
NAVIGATION = [("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]


async def echo(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """The site behind the guard: it accepts everything."""
    await receive()
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        await receive()
        return
    await send({"type": "http.response.start", "status": PASS, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.fixture(autouse=True)
def _known_hosts(settings: Settings) -> None:
    configure(settings)


def configure(settings: Settings, *, hosts: tuple[str, ...] = (), origins: tuple[str, ...] = ()) -> None:
    settings.TRUSTED_ORIGINS = trusted_origins(8000, origins)
    settings.TRUSTED_HOSTS = trusted_hosts(8000, hosts, settings.TRUSTED_ORIGINS)


async def outcomes(headers: list[Header]) -> tuple[int, int, str]:
    """For a GET, a POST, and a socket."""
    app = OriginGuard(echo)
    page = await http(app, "GET", "/runs/", headers)
    launch = await http(app, "POST", "/runs/new/", headers)
    opened = await socket(app, "/ws/runs/", headers)
    return page.status, launch.status, opened[0]["type"].removeprefix("websocket.")


@pytest.mark.parametrize("host", [OURS, "localhost:8000", "[::1]:8000", "LOCALHOST:8000"])
async def test_our_own_hosts_with_our_port_are_accepted(host: str) -> None:
    assert await outcomes([("Host", host)]) == (PASS, PASS, "accept")


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [OURS, OURS],
        [OURS, "evil.example"],
        ["evil.example"],
        ["evil.example:8000"],
        ["127.0.0.1.evil.example:8000"],
        ["127.0.0.1:9999"],
        ["127.0.0.1"],
        ["localhost"],
        ["0.0.0.0:8000"],
        ["2130706433:8000"],
        ["127.1:8000"],
        [""],
        ["127.0.0.1:8000, evil.example"],
        ["user@127.0.0.1:8000"],
        ["127.0.0.1:8000/evil"],
        ["127.0.0.1:8000#@evil.example"],
        ["127.0.0.1:"],
        ["127.0.0.1:8000\x00"],
        ["[::1]:8000.evil.example"],
        ["127.0.0.1:08000x"],
    ],
)
async def test_any_other_host_or_number_of_hosts_is_a_bad_request(hosts: list[str]) -> None:
    assert await outcomes([("Host", host) for host in hosts]) == (400, 400, "close")


@pytest.mark.parametrize(
    "origins",
    [
        ["null"],
        ["http://127.0.0.1:9999"],
        ["http://127.0.0.1"],
        ["https://127.0.0.1:8000"],
        ["http://evil.example"],
        ["http://127.0.0.1.evil.example:8000"],
        ["http://evil.example#http://127.0.0.1:8000"],
        ["http://localhost:8000"],  # trusted, but not the Host of this request
        [OUR_ORIGIN, OUR_ORIGIN],
        [OUR_ORIGIN, "http://evil.example"],
        [""],
        ["file://"],
        [f"{OUR_ORIGIN}/"],
        [f"{OUR_ORIGIN}/runs/"],
        [f"{OUR_ORIGIN} http://evil.example"],
    ],
)
async def test_any_other_origin_is_forbidden(origins: list[str]) -> None:
    headers = [("Host", OURS), *(("Origin", origin) for origin in origins)]
    assert await outcomes(headers) == (403, 403, "close")


async def test_our_own_origin_is_accepted() -> None:
    assert await outcomes([("Host", OURS), ("Origin", OUR_ORIGIN)]) == (PASS, PASS, "accept")


async def test_a_rebound_name_is_refused_although_host_and_origin_agree() -> None:
    headers = [("Host", "evil.example:8000"), ("Origin", "http://evil.example:8000"), ("Sec-Fetch-Site", "same-origin")]
    assert await outcomes(headers) == (400, 400, "close")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_requests_from_pages_of_other_sites_or_ports_are_forbidden(site: str) -> None:
    """Such as an image or a script element, which send no Origin. Another port of this machine is `same-site`."""
    headers = [("Host", OURS), ("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", "no-cors"), ("Sec-Fetch-Dest", "image")]
    assert await outcomes(headers) == (403, 403, "close")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_link_from_another_site_may_be_followed_but_not_posted(site: str) -> None:
    assert await outcomes([("Host", OURS), ("Sec-Fetch-Site", site), *NAVIGATION]) == (PASS, 403, "close")


async def test_a_frame_on_another_site_is_forbidden() -> None:
    headers = [("Host", OURS), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate")]
    assert (await http(OriginGuard(echo), "GET", "/", [*headers, ("Sec-Fetch-Dest", "iframe")])).status == 403


@pytest.mark.parametrize("site", ["same-origin", "none"])
async def test_our_own_pages_and_the_address_bar_are_accepted(site: str) -> None:
    assert await outcomes([("Host", OURS), ("Sec-Fetch-Site", site)]) == (PASS, PASS, "accept")


async def test_an_origin_of_ours_does_not_excuse_a_foreign_site() -> None:
    """No browser sends both; if something does, the stricter check applies."""
    headers = [("Host", OURS), ("Origin", OUR_ORIGIN), ("Sec-Fetch-Site", "cross-site")]
    assert await outcomes(headers) == (403, 403, "close")


async def test_programs_without_origin_headers_are_accepted() -> None:
    assert await outcomes([("Host", OURS), ("User-Agent", "a script")]) == (PASS, PASS, "accept")


async def test_a_host_for_health_checks_admits_no_browser(settings: Settings) -> None:
    configure(settings, hosts=("probe.internal:8000",))
    assert await outcomes([("Host", "probe.internal:8000")]) == (PASS, PASS, "accept")
    headers = [("Host", "probe.internal:8000"), ("Origin", "http://probe.internal:8000")]
    assert await outcomes(headers) == (403, 403, "close")


async def test_a_site_behind_a_tls_proxy_is_known_by_its_https_origin(settings: Settings) -> None:
    configure(settings, origins=("https://lab.example",))
    assert await outcomes([("Host", "lab.example"), ("Origin", "https://lab.example")]) == (PASS, PASS, "accept")
    assert await outcomes([("Host", "lab.example"), ("Origin", "http://lab.example")]) == (403, 403, "close")


async def test_a_refusal_explains_itself_in_plain_text(settings: Settings) -> None:
    answer = await http(OriginGuard(echo), "GET", "/", [("Host", "<script>alert(1)</script>")])
    assert answer.status == 400
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Host" in answer.body


async def test_a_refusal_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    await socket(OriginGuard(echo), "/ws/runs/", [("Host", OURS), ("Origin", "http://evil.example")])
    assert "evil.example" in caplog.text
