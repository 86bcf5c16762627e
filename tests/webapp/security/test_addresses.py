"""A URL with a NUL is a bad request, on every database."""

from __future__ import annotations

import pytest
from django.test import Client

from tests.webapp.world import World


@pytest.mark.parametrize("path", ["/runs/%00/", "/runs/?q=%00", "/runs/a%00b/trajectories/", "/api/v1/runs/?after=%00"])
def test_an_address_with_a_nul_is_a_bad_request(path: str, world: World, client: Client) -> None:
    client.force_login(world.user)
    assert client.get(path).status_code == 400
