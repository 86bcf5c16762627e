"""What a client asks of the trajectories of a run: the filters and orders of their page, by names of their own."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from webapp.api.endpoints import Fields
from webapp.trajectories.faults import KINDS
from webapp.trajectories.filters import LARGEST_SEED, LARGEST_WHOLE, Filters, read_filters
from webapp.trajectories.paging import COLUMNS, NEWEST_OF_ALL, Sort
from webapp.trajectories.search.terms import LONGEST_QUERY, MOST_TERMS, read_terms

MOST = 500
MOST_WITH_MESSAGES = 20
PREVIEWED = 1000  # characters
ORDERS = tuple(name for name in COLUMNS if name != "run")
NOT_FILTERS = ("after", "limit", "messages", "preview")
# by field: the name of the filter on the page, where it is another
ON_THE_PAGE = {
    "return_low": "low",
    "return_high": "high",
    "advantage_low": "adv_low",
    "advantage_high": "adv_high",
}
FLAGS = {"success": {"0": "no", "1": "yes"}, "superseded": {"0": "", "1": "only"}}


def _is_searchable(text: str) -> str:
    terms = read_terms(text)
    if text.strip() and not terms:
        raise ValueError(f'{text[:60]!r} has no letters or digits. Send words, "adjacent words" or the begin* of one.')
    if terms.problem:
        raise ValueError(f"The search has more than {MOST_TERMS} words. Send fewer.")
    return text


def _is_order(text: str) -> str:
    if text.removeprefix("-") not in ORDERS:
        raise ValueError(
            f"{text[:60]!r} is no order. Send one of {', '.join(ORDERS)}; a minus before it sorts in descending order."
        )
    return text


Whole = Annotated[int, Field(ge=0, le=LARGEST_WHOLE)]
Finite = Annotated[float, Field(allow_inf_nan=False)]


class TrajectoryQuery(Fields):
    q: Annotated[str, Field(max_length=LONGEST_QUERY), AfterValidator(_is_searchable)] = Field(
        default="",
        description='Only with each of these words in their thoughts or actions: `hole "go left" slip*` finds a word, '
        "two words in that order, and words that begin so.",
    )
    step: Whole | None = Field(default=None, description="Only of this step; by default of all.")
    step_low: Whole | None = Field(default=None, description="Only of this step and later ones.")
    step_high: Whole | None = Field(default=None, description="Only of this step and earlier ones.")
    split: Literal["train", "validation"] | None = Field(default=None, description="Only of this split.")
    environment: str = Field(default="", description="Only of the environment with this name.")
    success: Literal["0", "1"] | None = Field(default=None, description="Only with or without success.")
    group: Whole | None = Field(default=None, description="Only members of this group.")
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] | None = Field(
        default=None, description="Only those that started from the problem of this seed."
    )
    return_low: Finite | None = Field(default=None, description="Only with this return or more.")
    return_high: Finite | None = Field(default=None, description="Only with this return or less.")
    advantage_low: Finite | None = Field(default=None, description="Only with this advantage or more.")
    advantage_high: Finite | None = Field(default=None, description="Only with this advantage or less.")
    turns_low: Whole | None = Field(default=None, description="Only with this many turns or more.")
    turns_high: Whole | None = Field(default=None, description="Only with this many turns or fewer.")
    tokens_low: Whole | None = Field(default=None, description="Only with this many sampled tokens or more.")
    tokens_high: Whole | None = Field(default=None, description="Only with this many sampled tokens or fewer.")
    kept: Literal["kept", "dropped", "undecided"] | None = Field(
        default=None, description="Only those that the group filter kept or dropped, or that met none."
    )
    parse: Literal["ok", "failed", "surplus", *KINDS] | None = Field(  # type: ignore[valid-type]
        default=None,
        description="Only with well-formed responses alone, with some that are malformed, with surplus actions, or "
        "with a response that has this fault.",
    )
    stop: str = Field(default="", description="Only those that ended by this, such as `terminated`.")
    alert: str = Field(default="", description="Only of steps with an alert of this rule; `any` for any rule.")
    superseded: Literal["0", "1"] = Field(
        default="0",
        description="`1` for those of steps that a later attempt repeated, since it resumed from an earlier step.",
    )
    sort: Annotated[str, AfterValidator(_is_order)] = Field(
        default="-recorded",
        description=f"One of {', '.join(f'`{name}`' for name in ORDERS)}; with `-` before it in descending order. By "
        "default, the newest recorded come first.",
    )
    messages: Literal["0", "1"] = Field(
        default="0", description=f"`1` for the text of each turn too; then at most {MOST_WITH_MESSAGES}."
    )
    preview: Literal["0", "1"] = Field(
        default="0", description=f"`1` for the first {PREVIEWED:,} characters of thoughts and actions too."
    )
    limit: int = Field(default=50, ge=1, le=MOST, description="The most trajectories.")
    after: str | None = Field(default=None, description="The cursor `next` of the previous page.")

    @property
    def order(self) -> Sort:
        """Ids turn with the direction, so that one index serves both."""
        column = COLUMNS[self.sort.removeprefix("-")]
        return Sort(column=column, descending=self.sort.startswith("-"), turning=NEWEST_OF_ALL.turning)

    @property
    def most(self) -> int:
        return min(self.limit, MOST_WITH_MESSAGES) if self.messages == "1" else self.limit

    def filters(self, run_id: str) -> Filters:
        given = self.model_dump(exclude={"sort", *NOT_FILTERS}, exclude_none=True)
        named = {ON_THE_PAGE.get(name, name): FLAGS.get(name, {}).get(value, value) for name, value in given.items()}
        return read_filters({name: str(value) for name, value in named.items()}, run_id=run_id)
