"""The recorded trajectories of a run, filtered, searched and sorted, with their text if asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from django.db.models.functions import Concat, Left
from pydantic import BaseModel, Field

from engine.errors import RunDirectoryError
from webapp.api.endpoints import Call, Resource
from webapp.api.paging import filters_of, read_cursor, write_cursor
from webapp.api.trajectory_query import NOT_FILTERS, PREVIEWED, TrajectoryQuery
from webapp.runs.models import Run
from webapp.trajectories import services
from webapp.trajectories.chat import messages_of
from webapp.trajectories.faults import kinds_in
from webapp.trajectories.models import Trajectory, TrajectoryText
from webapp.trajectories.paging import first_of, position_of, read_position
from webapp.trajectories.texts import TURN

resource = Resource(tag="Alerts, held-out success and trajectories")


class TurnText(BaseModel):
    actions: list[str] = Field(description="Actions that were played.")
    reward: float | None
    parse: str = Field(description="`ok`, or how the response is malformed.")


class TrajectoryRow(BaseModel):
    id: int = Field(description="The reader is at /runs/<id>/trajectories/<id>/.")
    step: int
    split: str
    environment: str
    group: int
    member: int
    seed: int
    success: bool
    episode_return: float
    advantage: float | None
    group_std: float | None = Field(description="Standard deviation of returns in the group.")
    kept: bool | None = Field(description="By the group filter.")
    turns: int
    response_tokens: int
    parse_failures: int = Field(description="Turns whose response was malformed or named an unknown action.")
    faults: list[str] = Field(description="Kinds of faults in its responses, each once.")
    surplus: int = Field(description="Actions beyond those that a response may have.")
    stop: str
    attempt: int
    superseded: bool = Field(description="Whether a later attempt repeated the step.")
    messages: list[dict[str, str]] | None = Field(default=None, description="With `messages=1`: the whole chat.")
    played: list[TurnText] | None = Field(default=None, description="With `messages=1`: a row for each response.")
    unreadable: str = Field(default="", description="With `messages=1`: why there is no text.")
    preview: str | None = Field(
        default=None,
        description=f"With `preview=1`: the first {PREVIEWED:,} characters of its thoughts, then of its actions; a "
        "paragraph for each turn.",
    )


class TrajectoryPage(BaseModel):
    trajectories: list[TrajectoryRow]
    next: str | None = Field(description="The cursor of the next page; null if this is the last.")


PLAIN = tuple(
    name for name in TrajectoryRow.model_fields if name not in ("faults", "messages", "played", "unreadable", "preview")
)


@resource.get("runs/{run_id}/trajectories", in_brief=True)
def list_trajectories(call: Call, run: Run, query: TrajectoryQuery) -> Annotated[dict[str, Any], TrajectoryPage]:
    """List recorded trajectories, newest recorded first or by `sort`.

    With `messages=1` each has its chat, and the actions and the reward of each response. To page through them, send the
    `next` of an answer as the next `after`.
    """
    digest, sort = filters_of(query, NOT_FILTERS), query.order
    position = (
        read_cursor(query.after, digest, lambda key, pk: read_position(sort.column, key, pk)) if query.after else None
    )
    rows, filters = Trajectory.all_attempts.filter(run=run), query.filters(run.pk)
    found = first_of(rows, sort, position, count=query.most + 1, filters=filters)
    shown = found[: query.most]
    previews = _previews(shown) if query.preview == "1" else {}
    return {
        "trajectories": [
            {**_row(one), "preview": previews.get(one.pk), **(_text(one, run) if query.messages == "1" else NO_TEXT)}
            for one in shown
        ],
        "next": write_cursor(position_of(shown[-1]), digest) if len(found) > query.most else None,
    }


NO_TEXT: dict[str, Any] = {"messages": None, "played": None, "unreadable": ""}


def _row(row: Trajectory) -> dict[str, Any]:
    return {**{name: getattr(row, name) for name in PLAIN}, "faults": kinds_in(row.faults)}


def _previews(rows: Sequence[Trajectory]) -> dict[int, str]:
    texts = TrajectoryText.objects.filter(pk__in=[row.pk for row in rows])
    begun = texts.values_list("pk", Left(Concat("thoughts", "actions"), PREVIEWED))
    return {pk: text.strip(TURN).replace(TURN, "\n\n")[:PREVIEWED] for pk, text in begun}


def _text(row: Trajectory, run: Run) -> dict[str, Any]:
    row.run = run
    try:
        record = services.record(row)
    except RunDirectoryError as error:
        return NO_TEXT | {"unreadable": error.message}
    played = [
        {
            "actions": [str(action) for action in turn.get("executed") or []],
            "reward": turn.get("reward"),
            "parse": str(turn.get("parse", "ok")),
        }
        for turn in record["turns"]
    ]
    return NO_TEXT | {"messages": messages_of(record), "played": played}
