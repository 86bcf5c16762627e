"""What came of the rollouts: rewards, success in training and on held-out problems, lengths and format."""

from __future__ import annotations

from engine.glossary.types import Metric

REWARD = (
    Metric(
        name="reward/mean", section="reward", title="Reward, mean", better="higher",
        meaning="Mean score of the step's trajectories. A score is the sum of the environment's rewards and of the "
        "format penalties.",
        formula="mean of (sum of rewards + penalties)",
        bad="Flat from the start: there is no signal. Falling while success holds: penalties grow, so look at parsing.",
    ),
    Metric(
        name="reward/std", section="reward", title="Reward, spread", low=0,
        meaning="How far scores lie apart over all trajectories of the step, easy and hard problems together.",
        formula="standard deviation of scores",
        bad="Near 0: every trajectory earns the same, whatever it does.",
    ),
    Metric(
        name="reward/within_group_std", section="reward", title="In-group reward spread", low=0,
        meaning="How far returns lie apart among trajectories of the same problem, on average over problems: "
        "what the group filter reads. Group-relative advantages are made of it and of differing penalties.",
        formula="mean over groups of std(returns in the group), unbiased, penalties left out",
        bad="Under a tenth of its first ten steps: there is nothing left to learn from. With high success that is "
        "convergence, without it collapse.",
    ),
    Metric(
        name="reward/within_group_std_variation", section="reward", title="within-group reward std, unevenness", low=0,
        meaning="How differently problems spread: at 0 all alike, above 1 a few have most of the spread. A filter by "
        "spread has something to choose where it is high. Left out where no problem stds.",
        formula="std over groups of std(returns in the group) / its mean over groups",
        bad="Near 0.3 or lower: a filter by spread drops groups that teach as much as those it keeps.",
    ),
    Metric(
        name="reward/within_group_score_std", section="reward", title="In-group score spread", low=0,
        meaning="How far scores, penalties counted, lie apart among trajectories of the same problem, on average over "
        "problems; among all of the step where a problem has one trajectory. Group-relative advantages are made of it.",
        formula="mean over groups of std(scores in the group), unbiased",
        bad="0: a group-relative update has nothing to go by. Above the spread of returns: penalties teach the format.",
    ),
    Metric(
        name="reward/min", section="reward", title="Lowest reward", meaning="Lowest score of the step.",
        bad="The same lowest value for all: compare with the highest reward.",
    ),
    Metric(
        name="reward/max", section="reward", title="Highest reward", meaning="Highest score of the step.",
        bad="As low as the mean: not one trajectory shows the way.",
    ),
    Metric(
        name="reward/greedy", section="reward", title="Greedy reward", better="higher",
        meaning="Mean score of the greedy episodes that trajectories are compared with. Only under remax.",
        formula="mean over groups of return plus penalties of one episode at temperature 0",
        bad="Far above the mean reward: sampling at this temperature spoils what the policy knows.",
    ),
    Metric(
        name="reward/penalty", section="reward", title="Penalties", high=0, better="higher",
        meaning="Mean penalty per trajectory for malformed responses, unknown actions and responses that are too long. It "
        "is 0 or below.",
        bad="Moving away from 0: the response format is breaking, or responses run into their token limit.",
    ),
    Metric(
        name="reward/length_penalty", section="reward", title="Over-long penalty", high=0, better="higher",
        meaning="The part of the penalties that is for responses near their token limit. 0 without "
        "rollout.overlong_buffer.",
        bad="Moving away from 0 step by step: responses grow faster than the penalty holds them.",
    ),
)  # fmt: skip

ENV = (
    Metric(
        name="env/<tag>/success", section="env", title="<tag>: training success", unit="share", low=0, high=1,
        better="higher", meaning="Share of this environment's training trajectories that solved their problem.",
        formula="solved trajectories / trajectories", bad="0 for several steps after it was above: collapse.",
    ),
    Metric(
        name="env/<tag>/return", section="env", title="<tag>: return", better="higher",
        meaning="Mean sum of the environment's rewards per trajectory, format penalties left out.",
        formula="mean of the sum of rewards",
        bad="Rising while success does not: the reward is earned without solving the problem.",
    ),
    Metric(
        name="env/<tag>/kept_ratio", section="env", title="<tag>: kept groups", unit="share", low=0, high=1,
        meaning="Share of this environment's groups that the filter let train, in a run of several. Returns are first "
        "divided by the environment's largest of the step, so that one that pays more is not kept for that.",
        formula="kept groups / groups", bad="0 for many steps: the run no longer learns this environment.",
    ),
    Metric(
        name="env/<tag>/turns", section="env", title="<tag>: turns", low=0, unit="turns",
        meaning="Mean number of responses per trajectory.",
        bad="At the limit for all: trajectories run out of turns before they are done.",
    ),
    Metric(
        name="env/<tag>/actions", section="env", title="<tag>: actions", low=0, unit="actions",
        meaning="Mean number of executed actions per trajectory.",
        bad="Near 0: responses name nothing that can be executed.",
    ),
    Metric(
        name="env/<tag>/effective_rate", section="env", title="<tag>: effective actions", unit="share", low=0, high=1,
        better="higher", meaning="Share of executed actions that changed anything.",
        formula="actions that changed the state / executed actions",
        bad="Falling: the agent walks into walls, often because it no longer reads the state.",
    ),
    Metric(
        name="env/<tag>/turns_used", section="env", title="<tag>: share of turns used", unit="share", low=0, high=1,
        meaning="How many of the turns that a trajectory may take it took, on average.",
        formula="mean of turns / max_turns",
        bad="1 with success falling: it no longer ends its episodes. Near 0: they end at once, mostly by a mistake.",
    ),
    Metric(
        name="env/<tag>/parse_ok_rate", section="env", title="<tag>: well-formed responses", unit="share", low=0, high=1,
        better="higher", meaning="Share of this environment's responses in the format that was asked for.",
        formula="responses read without fault / responses",
        bad="Lower than in the run's other environments: this one's instruction or answers are what breaks the format.",
    ),
    Metric(
        name="env/<tag>/invalid_action_rate", section="env", title="<tag>: unknown actions", unit="share", low=0,
        high=1, better="lower", meaning="Share of this environment's responses that name an action it does not have.",
        formula="responses with an unknown action / responses",
        bad="A tenth more than at the start: often the first sign of a breakdown.",
    ),
    Metric(
        name="env/<tag>/fault_rate", section="env", title="<tag>: faults", unit="share", low=0, high=1, better="lower",
        meaning="Share of this environment's trajectories that ended because the environment raised an error or paid a "
        "reward that is no number. They train nothing and are part of no other mean.",
        formula="trajectories with a fault / trajectories",
        bad="Above 0: read the fault of such a trajectory, and run check-env.",
    ),
)  # fmt: skip

EVAL = (
    Metric(
        name="eval/success", section="eval", title="Held-out success", unit="share", low=0, high=1, better="higher",
        meaning="Share of held-out problems solved, all environments together. None of them is ever trained on.",
        formula="successes / episodes, with its 95% Wilson interval",
        bad="Far below training success: it learns the problems, not the game.",
    ),
    Metric(
        name="eval/<tag>/success", section="eval", title="<tag>: held-out success", unit="share", low=0, high=1,
        better="higher", meaning="Share of this environment's held-out problems solved. None of them is ever trained "
        "on, and they are the same at every evaluation.",
        formula="successes / episodes, with its 95% Wilson interval",
        bad="Far below training success: it learns the problems, not the game.",
    ),
    Metric(
        name="eval/<tag>/success_low", section="eval", title="<tag>: held-out success, lower bound", unit="share",
        low=0, high=1, better="higher", meaning="Lower end of the 95% interval of held-out success.",
        formula="Wilson score interval, z = 1.96",
        bad="Below the other run's upper bound: the difference may not be significant with so few episodes.",
    ),
    Metric(
        name="eval/<tag>/success_high", section="eval", title="<tag>: held-out success, upper bound", unit="share",
        low=0, high=1, better="higher", meaning="Upper end of the 95% interval of held-out success.",
        formula="Wilson score interval, z = 1.96",
        bad="Far above the lower end: too few episodes to say much.",
    ),
    Metric(
        name="eval/<tag>/return", section="eval", title="<tag>: held-out return", better="higher",
        meaning="Mean sum of the environment's rewards per held-out episode.", formula="mean of the sum of rewards",
        bad="Falling while the training return rises: it learns the problems, not the game.",
    ),
)  # fmt: skip

ROLLOUT = (
    Metric(
        name="rollout/success", section="rollout", title="Training success", unit="share", low=0, high=1,
        better="higher",
        meaning="Share of the step's trajectories that solved their problem, all environments together.",
        formula="solved trajectories / trajectories",
        bad="Half of what it was at its best: the policy is breaking. 0 for five steps with no spread: it is dead.",
    ),
    Metric(
        name="rollout/response_tokens", section="rollout", title="Response length", unit="tokens", low=0,
        meaning="Mean number of sampled tokens per response.",
        bad="Shrinking to almost nothing: it no longer thinks. At the limit: responses are cut off before their answer.",
    ),
    Metric(
        name="rollout/response_tokens_p95", section="rollout", title="Response length, 95th percentile", unit="tokens",
        low=0, meaning="Sampled tokens that only one response in twenty has more of.",
        formula="95th percentile over responses, interpolated",
        bad="At the limit while the mean is far from it: some responses no longer end.",
    ),
    Metric(
        name="rollout/trajectory_tokens", section="rollout", title="Trajectory length", unit="tokens", low=0,
        meaning="Mean number of tokens of a whole trajectory, prompts and observations included; with a window, of all "
        "its contexts together.",
        bad="At the context limit: trajectories end early for want of room.",
    ),
    Metric(
        name="rollout/contexts", section="rollout", title="Contexts", unit="contexts", low=0,
        meaning="Mean number of contexts of a trajectory: of prompts that the model read afresh. 1 where it sees all "
        "turns; with a window, up to one a turn.",
        formula="contexts / trajectories",
        bad="Near the number of turns with long prompts: each turn is paid for in full.",
    ),
    Metric(
        name="rollout/fault_rate", section="rollout", title="Faults", unit="share", low=0, high=1, better="lower",
        meaning="Share of the step's trajectories that ended because their environment raised an error or paid a "
        "reward that is no number. They train nothing and are part of no mean of rewards or success.",
        formula="trajectories with a fault / trajectories",
        bad="Above 0: read the fault of such a trajectory. When all have one, the run fails.",
    ),
    Metric(
        name="rollout/context_full_rate", section="rollout", title="Context full", unit="share", low=0, high=1,
        better="lower", meaning="Share of the step's trajectories that ended because the next prompt and its response "
        "could have passed rollout.max_context_tokens.",
        formula="trajectories that ended for want of room / trajectories",
        bad="Rising: responses grow. From the start: raise max_context_tokens, or choose a window.",
    ),
    Metric(
        name="rollout/no_room_rate", section="rollout", title="Prompts without room", unit="share", low=0, high=1,
        better="lower", meaning="Share of the step's trajectories whose first prompt already left no room for a response. "
        "They have no turn, train nothing and are part of no mean of rewards or success.",
        formula="trajectories without a turn for want of room / trajectories",
        bad="Above 0: these problems are never learned. Raise rollout.max_context_tokens.",
    ),
    Metric(
        name="rollout/unparsed_groups", section="rollout", title="Groups that nobody understood", unit="share", low=0,
        high=1, better="lower", meaning="Share of problems for which not one response of one trajectory was well formed. "
        "Their trajectories differ by penalties at most, so they teach nothing about the problem.",
        formula="groups without a well-formed response / groups",
        bad="Above one half: the format has broken down, or was never learned.",
    ),
    Metric(
        name="rollout/turns", section="rollout", title="Turns", unit="turns", low=0,
        meaning="Mean number of responses per trajectory.",
        bad="At the limit for all: trajectories run out of turns before they are done.",
    ),
    Metric(
        name="rollout/actions_per_turn", section="rollout", title="Actions per response", unit="actions", low=0,
        meaning="Mean number of actions that a response names, up to its allowance.",
        bad="To 0: responses no longer hold an answer.",
    ),
    Metric(
        name="rollout/parse_ok_rate", section="rollout", title="Well-formed responses", unit="share", low=0, high=1,
        better="higher", meaning="Share of responses in the format that was asked for.",
        formula="responses read without fault / responses",
        bad="Under one half: the format has broken down. Responses without actions cannot earn anything.",
    ),
    Metric(
        name="rollout/invalid_action_rate", section="rollout", title="Unknown actions", unit="share", low=0, high=1,
        better="lower", meaning="Share of responses that name an action the environment does not have.",
        bad="A tenth more than at the start: often the first sign of a breakdown.",
    ),
    Metric(
        name="rollout/cut_off_rate", section="rollout", title="Cut-off responses", unit="share", low=0, high=1,
        better="lower", meaning="Share of responses that reached the token limit before they were complete.",
        bad="Rising: responses ramble, or max_response_tokens is too low.",
    ),
    Metric(
        name="rollout/zero_variance_share", section="rollout", title="Groups without spread", unit="share", low=0,
        high=1, meaning="Share of problems whose trajectories all earned the same. They teach nothing, but for "
        "differing format penalties.",
        formula="groups with std(returns) = 0 / groups",
        bad="Above 0.6: problems are too hard, too easy, or the policy always does the same.",
    ),
    Metric(
        name="rollout/failed_groups", section="rollout", title="Groups that all failed", unit="groups", low=0,
        better="lower", meaning="Problems of the step that none of their trajectories solved.",
        bad="Most of them: problems are too hard to learn from, or the policy is lost.",
    ),
    Metric(
        name="rollout/mixed_groups", section="rollout", title="Groups solved in part", unit="groups", low=0,
        better="higher", meaning="Problems of the step that some of their trajectories solved and others did not.",
        bad="Near 0: success and failure are nowhere compared.",
    ),
    Metric(
        name="rollout/solved_groups", section="rollout", title="Groups that were all solved", unit="groups", low=0,
        better="higher", meaning="Problems of the step that all of their trajectories solved.",
        bad="Most of them: little is left to learn; take harder problems.",
    ),
    Metric(
        name="rollout/parse/<case>", section="rollout", title="Responses: <case>", unit="share", low=0, high=1,
        meaning="Share of responses that were read this way.",
        bad="Growing, if it is any other way than a well-formed response: the format falls apart.",
    ),
)  # fmt: skip

_CASES = {
    "ok": ("well-formed", "Share of responses that were read without fault."),
    "no_think": ("no thought", "Share of responses without a <think> part."),
    "no_answer": ("no answer", "Share of responses without an <answer> part, so without an action."),
    "empty_answer": ("empty answer", "Share of responses whose <answer> part names nothing."),
    "unclosed": ("unclosed tag", "Share of responses in which a tag is opened and never closed."),
    "text_outside": ("text outside tags", "Share of responses with text before, between or after the two parts."),
    "too_many_actions": (
        "too many actions",
        "Share of responses with more actions than allowed; the rest are ignored.",
    ),
    "unknown_action": ("unknown action", "Share of responses that name an action the environment does not have."),
    "cut_off": ("cut off", "Share of responses that reached the token limit before they were complete."),
    "empty_response": ("empty", "Share of responses of nothing but special tokens and blanks."),
}

PARSE = tuple(
    Metric(
        name=f"rollout/parse/{case}", section="rollout", title=f"Responses: {title}", unit="share", low=0, high=1,
        meaning=meaning, formula="responses of this case / responses", better="higher" if case == "ok" else "lower",
        bad="Falling: see which other case rises." if case == "ok" else "Rising: read some of these responses.",
    )
    for case, (title, meaning) in _CASES.items()
)  # fmt: skip

ENTRIES = (*REWARD, *ENV, *EVAL, *ROLLOUT, *PARSE)
