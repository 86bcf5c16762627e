"""What every trajectory of a step returned, group by group, as a trainer elsewhere sends it: the event of the groups,
and the metrics that alert rules and the verdict read."""

from __future__ import annotations

from statistics import fmean, pstdev, stdev
from typing import Annotated, Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, model_validator

from engine.events import GroupsFiltered
from engine.foreign.refused import Name, Refused, checked

MOST_RETURNS = 8192  # of a step
LARGEST_RETURN = 1e30
EQUAL = 1e-9  # standard deviation of returns that are all the same

Return = Annotated[float, Field(ge=-LARGEST_RETURN, le=LARGEST_RETURN, allow_inf_nan=False)]


class GroupLine(BaseModel):
    """Trajectories that start from the same prompt. `successes` says of each whether it solved it; `kept` is false for
    a group that the trainer left out of its update."""

    model_config = ConfigDict(extra="forbid", strict=True)

    returns: list[Return] = Field(min_length=1, max_length=MOST_RETURNS)
    successes: list[bool] | None = None
    environment: Name = ""
    seed: int = Field(default=0, ge=0, lt=2**53)
    kept: bool = True

    @model_validator(mode="after")
    def _one_success_for_each(self) -> GroupLine:
        if self.successes is not None and len(self.successes) != len(self.returns):
            raise ValueError(f"{len(self.returns)} returns and {len(self.successes)} successes: give one for each")
        return self


class GroupsLine(BaseModel):
    groups: list[GroupLine] = Field(min_length=1, max_length=MOST_RETURNS)


class Groups(NamedTuple):
    event: GroupsFiltered
    metrics: dict[str, float]


def read_groups(data: dict[str, Any], *, step: int, time: float, environment: str) -> Groups:
    """`environment` is that of groups which name none."""
    groups = checked(GroupsLine, {"groups": data["groups"]}).groups
    if (count := sum(len(group.returns) for group in groups)) > MOST_RETURNS:
        raise Refused(f"The groups have {count:,} returns; at most {MOST_RETURNS:,} are allowed.")
    stds = [stdev(group.returns) if len(group.returns) > 1 else None for group in groups]
    return Groups(_event(groups, stds, step=step, time=time, environment=environment), _metrics(groups, stds))


def _event(
    groups: list[GroupLine], stds: list[float | None], *, step: int, time: float, environment: str
) -> GroupsFiltered:
    names = [group.environment or environment for group in groups]
    tags = list(dict.fromkeys(names))
    return GroupsFiltered(
        step=step,
        time=time,
        tags=tags,
        groups=list(range(len(groups))),
        environments=[tags.index(name) for name in names],
        seeds=[group.seed for group in groups],
        returns=[list(group.returns) for group in groups],
        stds=stds,
        scores=stds,
        kept=[index for index, group in enumerate(groups) if group.kept],
        threshold=0.0,  # how the trainer chose them is not known
    )


def _metrics(groups: list[GroupLine], stds: list[float | None]) -> dict[str, float]:
    """By the names and formulas of our own runs."""
    returns = [value for group in groups for value in group.returns]
    found = {
        "reward/mean": fmean(returns),
        "reward/std": pstdev(returns),
        "reward/min": min(returns),
        "reward/max": max(returns),
    }
    if known := [std for std in stds if std is not None]:
        found["reward/within_group_std"] = fmean(known)
        found["rollout/zero_variance_share"] = fmean(std < EQUAL for std in known)
    if all(group.successes is not None for group in groups):
        shares = [fmean(group.successes or [False]) for group in groups]
        found["rollout/success"] = fmean(success for group in groups for success in group.successes or [])
        found["rollout/solved_groups"] = float(sum(share == 1 for share in shares))
        found["rollout/failed_groups"] = float(sum(share == 0 for share in shares))
        found["rollout/mixed_groups"] = float(sum(0 < share < 1 for share in shares))
    return found
