"""Terms that are no metrics: what pages mean by words of trajectories and of the queue. No torch."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    key: str  # the end of its address
    title: str
    meaning: str


TERMS = (
    Term(
        key="divergence",
        title="Divergence of trajectories",
        meaning="Two trajectories diverge at the first action that differs: the first turn in which other actions were "
        "executed, or that only one of them has. Other words for the same actions are no divergence, and neither is "
        "another outcome of the same actions in the same state; both are shown, less prominently. States are the same "
        "if their drawings are, or their texts where there is no drawing.",
    ),
    Term(
        key="return-to-go",
        title="Return to go",
        meaning="The rewards and penalties of a turn and of all later turns of its trajectory.",
    ),
    Term(
        key="suite",
        title="Suite",
        meaning="What models are evaluated on: environments, held-out problems of each, sampling, samples per problem "
        "and budgets. It has versions, and a version that has been evaluated no longer changes.",
    ),
    Term(
        key="comparability-key",
        title="Comparability key",
        meaning="The hash of everything that decides whether two evaluations on a suite are comparable: environments "
        "and their versions, problems, sampling, budgets and scoring. Only evaluations with the same key are ranked "
        "together.",
    ),
    Term(
        key="engine-slot",
        title="Engine slot",
        meaning="One of the engines that may be loaded at once (STARBOARD_MAX_PARALLEL_RUNS). A run holds its slot "
        "from its start to its end, including while it is paused or waiting to restart after a failure.",
    ),
    Term(
        key="queue",
        title="Queue",
        meaning="Runs that wait for an engine slot. The run with the highest priority is next; at the same priority, "
        "users take turns; of one user's runs, the oldest is next. Moving a run sets priorities.",
    ),
)
