"""A household as a `CommandGame`: score, expert, canonical text and drawing."""

from __future__ import annotations

from engine.environments.alfworld.catalogue import OPENABLE, type_of
from engine.environments.alfworld.expert import plan
from engine.environments.alfworld.household import Household
from engine.environments.base import Drawing, Solution


class HouseholdGame:
    def __init__(self, household: Household) -> None:
        self.household = household
        self._plan: list[str] | None = None  # from the current state, if it is known
        household.start()

    @property
    def goal(self) -> str:
        return self.household.task.goal

    @property
    def feedback(self) -> str:
        return self.household.feedback

    def commands(self) -> list[str]:
        return self.household.commands()

    def play(self, command: str) -> float:
        self._plan = self._plan[1:] if self._plan and self._plan[0] == command else None
        self.household.play(command)
        return float(self.household.won())

    def won(self) -> bool:
        return self.household.won()

    def lost(self) -> bool:
        return False

    def plan(self) -> Solution:
        if self._plan is None:
            self._plan = plan(self.household)
        return list(self._plan)

    def problem(self) -> str:
        """Without the wording of the goal."""
        house = self.household
        task = (house.task.type, house.task.object, house.task.target)
        return "\n".join([" ".join(task), *house.receptacles, *sorted(f"{o} @ {r}" for o, r in house.contents.items())])

    def drawing(self) -> Drawing:
        """Every receptacle with all that is in it, whether the model has seen it or not."""
        house = self.household
        marks = [[index, 0, "new"] for index, name in enumerate(house.receptacles) if name == house.at]
        marks += [
            [index, 2, "good"]
            for index, name in enumerate(house.receptacles)
            if any(type_of(one) == house.task.object for one in house.inside(name))
        ]
        rows = [[name, self._state(name), ", ".join(house.inside(name))] for name in house.receptacles]
        caption = f"{house.room}: {house.task.goal}. Holding {house.held or 'nothing'}."
        columns = ["Receptacle", "State", "Contents"]
        return {"type": "table", "columns": columns, "rows": rows, "caption": caption, "marks": marks}

    def close(self) -> None:
        """Nothing is open."""

    def _state(self, name: str) -> str:
        if type_of(name) not in OPENABLE:
            return ""
        return "open" if name in self.household.opened else "closed"
