"""Recorded trajectories: filtered, searched and sorted by the site, page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypedDict, Unpack

from starboard_client.models import Trajectory, TrajectoryPage
from starboard_client.transport import Transport

AT_ONCE = {False: 500, True: 20}  # without and with their text


class TrajectoryFilters(TypedDict, total=False):
    """What `Starboard.trajectories` takes besides the run. The page *API* of a site describes each.

    `q` has words in thoughts and actions: `hole "go left" slip*`. Bounds, whose names end in `_low` or `_high`, are
    included. `alert` is a rule whose steps are wanted, or `any`.
    """

    q: str
    step: int | None
    step_low: int
    step_high: int
    split: Literal["train", "validation"] | None
    environment: str
    success: bool | None
    group: int | None
    seed: int
    return_low: float
    return_high: float
    advantage_low: float
    advantage_high: float
    turns_low: int
    turns_high: int
    tokens_low: int
    tokens_high: int
    kept: Literal["kept", "dropped", "undecided"]
    parse: str
    stop: str
    alert: str
    superseded: bool


class TrajectoryCalls:
    _http: Transport

    def trajectories(
        self,
        run_id: str,
        *,
        sort: str = "-recorded",
        messages: bool = False,
        preview: bool = False,
        limit: int | None = None,
        **filters: Unpack[TrajectoryFilters],
    ) -> Iterator[Trajectory]:
        """Newest recorded first, or sorted by a column of their page, such as `-tokens`, page by page.

        With `messages` each has its text, with `preview` the beginning of its thoughts and actions. `limit` is the most
        in all.
        """
        given = {name: _sent(value) for name, value in filters.items() if value is not None}
        shown = {name: "1" for name, wanted in (("messages", messages), ("preview", preview)) if wanted}
        after, left = None, limit
        while left is None or left > 0:
            at_once = AT_ONCE[messages] if left is None else min(left, AT_ONCE[messages])
            page = TrajectoryPage.model_validate(
                self._http.get(f"runs/{run_id}/trajectories", sort=sort, limit=at_once, after=after, **given, **shown)
            )
            yield from page.trajectories
            left = None if left is None else left - len(page.trajectories)
            if (after := page.next) is None:
                return


def _sent(value: object) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)
