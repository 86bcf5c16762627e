"""What the address of a leaderboard says: the suite, what is shown of it, in which order, against which baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import urlencode

from webapp.leaderboard.columns import COLUMNS, COSTS, MEASURES, SETS, Column
from webapp.suites.models import PolicyKind
from webapp.whole_numbers import whole_number

PAGE = 50
LONGEST_TEXT = 100
SHORT_KEY = 12  # digits of a comparability key in addresses
CONFIGURATION = "configuration"
LAST_PAGE = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BoardQuery:
    """Parts that are invalid or empty have their default. `key` is the beginning of a comparability key."""

    suite: str = ""
    text: str = ""
    policy: str = ""
    sort: str = "success"
    ascending: bool = False
    by_configuration: bool = False
    baseline: int | None = None
    key: str = ""
    show: str = "results"
    against: str = ""  # the cost that a chart is against; empty: no chart
    page: int = 1

    @property
    def measure(self) -> Column:
        """What rows are ranked and charted by: the column that they are sorted by, or success if it is no measure."""
        return COLUMNS[self.sort if self.sort in MEASURES else "success"]

    def address(self, **changes: object) -> str:
        """The query string with these changes, without what is at its default."""
        one = replace(self, **{"page": 1, **changes})  # type: ignore[arg-type]
        is_usual = (one.sort, one.ascending) == ("success", False)
        parts = {
            "suite": one.suite,
            "q": one.text,
            "policy": one.policy,
            "sort": "" if is_usual else f"{'' if one.ascending else '-'}{one.sort}",
            "as": CONFIGURATION if one.by_configuration else "",
            "baseline": "" if one.baseline is None else str(one.baseline),
            "key": one.key,
            "show": "" if one.show == "results" else one.show,
            "against": one.against,
            "page": "" if one.page == 1 else str(one.page),
        }
        return urlencode({name: value for name, value in parts.items() if value})

    def sorted_by(self, column: str) -> str:
        """The query string that sorts by `column`, the other way round if it is the one already."""
        if column == self.sort:
            return self.address(ascending=not self.ascending)
        return self.address(sort=column, ascending=COLUMNS[column].ascending)


def read_query(given: Mapping[str, str]) -> BoardQuery:
    sort = given.get("sort", "")
    column, ascending = sort.removeprefix("-"), not sort.startswith("-")
    if column not in COLUMNS:
        column, ascending = "success", False
    policy, show, key = given.get("policy", ""), given.get("show", ""), given.get("key", "")[:SHORT_KEY]
    against = given.get("against", "")
    return BoardQuery(
        suite=given.get("suite", "")[:60],
        text=given.get("q", "").strip()[:LONGEST_TEXT],
        policy=policy if policy in PolicyKind.values else "",
        sort=column,
        ascending=ascending,
        by_configuration=given.get("as") == CONFIGURATION,
        baseline=whole_number(given.get("baseline", "")),
        key=key if all(digit in "0123456789abcdef" for digit in key) else "",
        show=show if show in SETS else "results",
        against=against if against in COSTS else "",
        page=min(LAST_PAGE, max(1, whole_number(given.get("page", "")) or 1)),
    )
