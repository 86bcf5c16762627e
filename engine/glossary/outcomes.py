"""Results of the rollouts: rewards, training and held-out success, lengths and format."""

from __future__ import annotations

from engine.glossary.types import Metric

REWARD = (
    Metric(
        name="reward/mean", section="reward", title="Mean reward", better="higher",
        meaning="Mean score of the step's trajectories: the return, which is the sum of the environment's rewards, "
        "plus format penalties.",
        formula="mean of (return + penalties)",
        bad="Flat from the start: there is no signal. Falling while success holds: penalties grow, so look at parsing.",
    ),
    Metric(
        name="reward/std", section="reward", title="Reward std", low=0,
        meaning="Standard deviation of scores over all trajectories of the step, easy and hard problems together.",
        formula="std of scores",
        bad="Near 0: every trajectory earns the same.",
    ),
    Metric(
        name="reward/within_group_std", section="reward", title="Within-group reward std", low=0,
        meaning="Standard deviation of returns among trajectories of the same problem, averaged over problems. The "
        "group filter reads it, and group-relative advantages depend on it.",
        formula="mean over groups of std(returns), unbiased, penalties left out",
        bad="Below a tenth of its first ten steps: there is nothing left to learn from. With high success that is "
        "convergence, without it collapse.",
    ),
    Metric(
        name="reward/within_group_std_variation", section="reward", title="Within-group reward std, variation", low=0,
        meaning="Coefficient of variation of the within-group reward std: 0 when all groups have the same std, above "
        "1 when a few groups have most of it. A variance filter needs it to be high. Missing when it is 0 in every "
        "group.",
        formula="std over groups of std(returns) / its mean over groups",
        bad="Below about 0.3: a variance filter drops groups that teach as much as those it keeps.",
    ),
    Metric(
        name="reward/within_group_score_std", section="reward", title="Within-group score std", low=0,
        meaning="Standard deviation of scores, penalties included, among trajectories of the same problem, averaged "
        "over problems. With one trajectory per problem: over the whole step.",
        formula="mean over groups of std(scores), unbiased",
        bad="0: a group-relative update has no signal. Above the std of returns: penalties teach the format.",
    ),
    Metric(
        name="reward/min", section="reward", title="Lowest reward", meaning="Lowest score of the step.",
        bad="Equal to the highest score: there is no signal.",
    ),
    Metric(
        name="reward/max", section="reward", title="Highest reward", meaning="Highest score of the step.",
        bad="As low as the mean: no trajectory succeeds, so there is nothing to reinforce.",
    ),
    Metric(
        name="reward/greedy", section="reward", title="Greedy reward", better="higher",
        meaning="Mean score of the greedy episodes that ReMax uses as its baseline.",
        formula="mean over groups of the score of one episode at temperature 0",
        bad="Far above the mean score: the sampling temperature costs a lot of performance.",
    ),
    Metric(
        name="reward/penalty", section="reward", title="Penalties", high=0, better="higher",
        meaning="Mean penalty per trajectory for malformed responses, unknown actions and over-long responses. At most "
        "0.",
        bad="Moving away from 0: the format is breaking, or responses run into their token limit.",
    ),
    Metric(
        name="reward/length_penalty", section="reward", title="Over-long penalty", high=0, better="higher",
        meaning="The part of the penalties for responses near their token limit. 0 without rollout.overlong_buffer.",
        bad="Moving away from 0 step by step: responses grow in spite of the penalty.",
    ),
)  # fmt: skip

ENV = (
    Metric(
        name="env/<tag>/success", section="env", title="<tag>: training success", unit="share", low=0, high=1,
        better="higher", meaning="Share of this environment's training trajectories that solved their problem.",
        formula="solved trajectories / trajectories", bad="0 for several steps after it was higher: collapse.",
    ),
    Metric(
        name="env/<tag>/return", section="env", title="<tag>: return", better="higher",
        meaning="Mean return per trajectory: the sum of the environment's rewards, without format penalties.",
        formula="mean of the sum of rewards",
        bad="Rising while success does not: the policy exploits the reward.",
    ),
    Metric(
        name="env/<tag>/kept_ratio", section="env", title="<tag>: kept groups", unit="share", low=0, high=1,
        meaning="Share of this environment's groups that the filter kept. Returns are first divided by the "
        "environment's largest of the step, so that the scale of rewards does not decide.",
        formula="kept groups / groups", bad="0 for many steps: the run no longer learns this environment.",
    ),
    Metric(
        name="env/<tag>/turns", section="env", title="<tag>: turns", low=0, unit="turns",
        meaning="Mean number of turns per trajectory.",
        bad="At the limit for all: trajectories run out of turns before they are done.",
    ),
    Metric(
        name="env/<tag>/actions", section="env", title="<tag>: actions", low=0, unit="actions",
        meaning="Mean number of executed actions per trajectory.",
        bad="Near 0: responses contain no valid action.",
    ),
    Metric(
        name="env/<tag>/effective_rate", section="env", title="<tag>: effective actions", unit="share", low=0, high=1,
        better="higher", meaning="Share of executed actions that changed the state.",
        formula="actions that changed the state / executed actions",
        bad="Falling: the agent walks into walls, often because it ignores the state.",
    ),
    Metric(
        name="env/<tag>/turns_used", section="env", title="<tag>: share of turns used", unit="share", low=0, high=1,
        meaning="Turns taken as a share of the turns allowed, on average.",
        formula="mean of turns / max_turns",
        bad="1 with falling success: episodes no longer end. Near 0: they end at once, mostly by a mistake.",
    ),
    Metric(
        name="env/<tag>/parse_ok_rate", section="env", title="<tag>: well-formed responses", unit="share", low=0,
        high=1, better="higher", meaning="Share of this environment's responses in the requested format.",
        formula="well-formed responses / responses",
        bad="Lower than in the run's other environments: this one's instructions or actions break the format.",
    ),
    Metric(
        name="env/<tag>/invalid_action_rate", section="env", title="<tag>: invalid actions", unit="share", low=0,
        high=1, better="lower", meaning="Share of this environment's responses with an action that it does not have.",
        formula="responses with an unknown action / responses",
        bad="10 percentage points above the start: often the first sign of a collapse.",
    ),
    Metric(
        name="env/<tag>/fault_rate", section="env", title="<tag>: environment errors", unit="share", low=0, high=1,
        better="lower",
        meaning="Share of this environment's trajectories that ended because the environment raised an error, exceeded "
        "a limit or returned something invalid. They are not trained on and are left out of all other means.",
        formula="failed trajectories / trajectories",
        bad="Above 0: read the error of such a trajectory, and run check-env.",
    ),
    Metric(  # last, so that it matches only what the others do not
        name="env/<tag>/<name>", section="env", title="<tag>: <name>",
        meaning="A number that the environment reports in the info of each step, declared in its info_metrics. Each "
        "trajectory has one, by the declared reduction: the last, the sum, the mean, the largest or the smallest.",
        formula="mean over the trajectories that have it", bad="Depends on the environment; see its documentation.",
    ),
)  # fmt: skip

EVAL = (
    Metric(
        name="eval/success", section="eval", title="Held-out success", unit="share", low=0, high=1, better="higher",
        meaning="Share of held-out problems solved, all environments together. They are never trained on.",
        formula="successes / episodes, with its 95% Wilson interval",
        bad="Far below training success: the policy overfits to the training problems.",
    ),
    Metric(
        name="eval/success_low", section="eval", title="Held-out success, lower bound", unit="share", low=0, high=1,
        better="higher", meaning="Lower end of the 95% interval of held-out success, all environments together.",
        formula="Wilson score interval, z = 1.96",
        bad="Below another run's upper bound: the difference may not be significant with so few episodes.",
    ),
    Metric(
        name="eval/success_high", section="eval", title="Held-out success, upper bound", unit="share", low=0, high=1,
        better="higher", meaning="Upper end of the 95% interval of held-out success, all environments together.",
        formula="Wilson score interval, z = 1.96",
        bad="Far above the lower bound: too few episodes for a conclusion.",
    ),
    Metric(
        name="eval/<tag>/success", section="eval", title="<tag>: held-out success", unit="share", low=0, high=1,
        better="higher", meaning="Share of this environment's held-out problems solved. They are never trained on, and "
        "are the same at every evaluation.",
        formula="successes / episodes, with its 95% Wilson interval",
        bad="Far below training success: the policy overfits to the training problems.",
    ),
    Metric(
        name="eval/<tag>/success_low", section="eval", title="<tag>: held-out success, lower bound", unit="share",
        low=0, high=1, better="higher", meaning="Lower end of the 95% interval of held-out success.",
        formula="Wilson score interval, z = 1.96",
        bad="Below another run's upper bound: the difference may not be significant with so few episodes.",
    ),
    Metric(
        name="eval/<tag>/success_high", section="eval", title="<tag>: held-out success, upper bound", unit="share",
        low=0, high=1, better="higher", meaning="Upper end of the 95% interval of held-out success.",
        formula="Wilson score interval, z = 1.96",
        bad="Far above the lower bound: too few episodes for a conclusion.",
    ),
    Metric(
        name="eval/<tag>/return", section="eval", title="<tag>: held-out return", better="higher",
        meaning="Mean return per held-out episode.", formula="mean of the sum of rewards",
        bad="Falling while the training return rises: the policy overfits to the training problems.",
    ),
)  # fmt: skip

ROLLOUT = (
    Metric(
        name="rollout/success", section="rollout", title="Training success", unit="share", low=0, high=1,
        better="higher",
        meaning="Share of the step's trajectories that solved their problem, all environments together.",
        formula="solved trajectories / trajectories",
        bad="Half of its best: the policy is collapsing. 0 for five steps with equal returns in every group: no signal "
        "is left.",
    ),
    Metric(
        name="rollout/response_tokens", section="rollout", title="Response length", unit="tokens", low=0,
        meaning="Mean number of sampled tokens per response.",
        bad="Shrinking to almost nothing: thoughts are lost. At the limit: responses are cut off before their answer.",
    ),
    Metric(
        name="rollout/response_tokens_p95", section="rollout", title="Response length, 95th percentile", unit="tokens",
        low=0, meaning="95th percentile of sampled tokens per response.",
        formula="95th percentile over responses, interpolated",
        bad="At the limit while the mean is far from it: some responses no longer end.",
    ),
    Metric(
        name="rollout/trajectory_tokens", section="rollout", title="Trajectory length", unit="tokens", low=0,
        meaning="Mean number of tokens of a trajectory, prompts and observations included; with a context window, of "
        "all its contexts together.",
        bad="At the context limit: trajectories end early because the context is full.",
    ),
    Metric(
        name="rollout/contexts", section="rollout", title="Contexts", unit="contexts", low=0,
        meaning="Mean number of contexts per trajectory: how often the model read a prompt from scratch. 1 with the "
        "full "
        "history; with a context window, up to one per turn.",
        formula="contexts / trajectories",
        bad="Near the number of turns with long prompts: the prefix cache saves nothing.",
    ),
    Metric(
        name="rollout/fault_rate", section="rollout", title="Environment errors", unit="share", low=0, high=1,
        better="lower",
        meaning="Share of the step's trajectories that ended because their environment raised an error, exceeded a "
        "limit or returned something invalid. They are not trained on and are left out of means of rewards and "
        "success.",
        formula="failed trajectories / trajectories",
        bad="Above 0: read the error of such a trajectory. Above stop.fault_share the run fails.",
    ),
    Metric(
        name="rollout/close_fault_rate", section="rollout", title="Environments not closed", unit="share", low=0,
        high=1, better="lower",
        meaning="Share of the step's trajectories whose environment raised an error in close, or did not return from "
        "it in time. They are trained on like all others.",
        formula="trajectories with a failed close / trajectories",
        bad="Above 0 for many steps: resources that environments hold, such as processes or connections, may not be "
        "released.",
    ),
    Metric(
        name="rollout/context_full_rate", section="rollout", title="Context full", unit="share", low=0, high=1,
        better="lower", meaning="Share of the step's trajectories that ended because the next prompt and response "
        "could "
        "exceed rollout.max_context_tokens.",
        formula="trajectories ended by a full context / trajectories",
        bad="Rising: responses grow. From the start: raise max_context_tokens, or choose a context window.",
    ),
    Metric(
        name="rollout/no_room_rate", section="rollout", title="Prompts too long", unit="share", low=0, high=1,
        better="lower", meaning="Share of the step's trajectories whose first prompt left no room for a response. They "
        "have no turn, are not trained on and are left out of means of rewards and success.",
        formula="trajectories without a turn / trajectories",
        bad="Above 0: these problems are never learned. Raise rollout.max_context_tokens.",
    ),
    Metric(
        name="rollout/unparsed_groups", section="rollout", title="Groups without a well-formed response", unit="share",
        low=0, high=1, better="lower", meaning="Share of groups in which no response was well-formed. Their scores "
        "differ by penalties at most, so they teach nothing about the problem.",
        formula="groups without a well-formed response / groups",
        bad="Above one half: the format has broken, or was never learned.",
    ),
    Metric(
        name="rollout/turns", section="rollout", title="Turns", unit="turns", low=0,
        meaning="Mean number of turns per trajectory.",
        bad="At the limit for all: trajectories run out of turns before they are done.",
    ),
    Metric(
        name="rollout/actions_per_turn", section="rollout", title="Actions per turn", unit="actions", low=0,
        meaning="Mean number of actions in a response, up to the number allowed.",
        bad="To 0: responses no longer contain an answer.",
    ),
    Metric(
        name="rollout/surplus_actions", section="rollout", title="Surplus actions", unit="actions", low=0,
        better="lower", meaning="Mean number of actions in a response beyond max_actions_per_turn. They are not "
        "executed; surplus_actions of the environment decides whether they are trained on or penalised.",
        formula="actions beyond the limit / responses",
        bad="Rising: the model writes actions that have no effect. Use surplus_actions = mask or penalty.",
    ),
    Metric(
        name="rollout/surplus_rate", section="rollout", title="Responses with surplus actions", unit="share", low=0,
        high=1, better="lower", meaning="Share of responses with more actions than max_actions_per_turn.",
        formula="responses with surplus actions / responses",
        bad="Rising: the model writes actions that have no effect. Use surplus_actions = mask or penalty.",
    ),
    Metric(
        name="rollout/parse_ok_rate", section="rollout", title="Well-formed responses", unit="share", low=0, high=1,
        better="higher", meaning="Share of responses in the requested format.",
        formula="well-formed responses / responses",
        bad="Below one half: the format has broken. Responses without actions earn nothing.",
    ),
    Metric(
        name="rollout/invalid_action_rate", section="rollout", title="Invalid actions", unit="share", low=0, high=1,
        better="lower", meaning="Share of responses with an action that the environment does not have.",
        formula="responses with an unknown action / responses",
        bad="10 percentage points above the start: often the first sign of a collapse.",
    ),
    Metric(
        name="rollout/cut_off_rate", section="rollout", title="Truncated responses", unit="share", low=0, high=1,
        better="lower", meaning="Share of responses that were cut off at the token limit.",
        bad="Rising: responses ramble, or max_response_tokens is too low.",
    ),
    Metric(
        name="rollout/zero_variance_share", section="rollout", title="Zero-variance groups", unit="share", low=0,
        high=1, meaning="Share of groups whose returns are all equal. They teach nothing, except through differing "
        "format penalties.",
        formula="groups with std(returns) = 0 / groups",
        bad="Above 0.6: problems are too hard or too easy, or the policy is nearly deterministic.",
    ),
    Metric(
        name="rollout/failed_groups", section="rollout", title="Groups without success", unit="groups", low=0,
        better="lower", meaning="Number of groups in which no trajectory succeeded.",
        bad="Most of them: problems are too hard to learn from, or the policy has collapsed.",
    ),
    Metric(
        name="rollout/mixed_groups", section="rollout", title="Groups with some successes", unit="groups", low=0,
        better="higher", meaning="Number of groups in which some trajectories succeeded and others did not.",
        bad="Near 0: success and failure are never compared.",
    ),
    Metric(
        name="rollout/solved_groups", section="rollout", title="Groups with only successes", unit="groups", low=0,
        better="higher", meaning="Number of groups in which every trajectory succeeded.",
        bad="Most of them: little is left to learn; use harder problems.",
    ),
    Metric(
        name="rollout/parse/<case>", section="rollout", title="Responses: <case>", unit="share", low=0, high=1,
        meaning="Share of responses with this result of parsing.",
        bad="Rising, unless it is well-formed: the format is breaking.",
    ),
)  # fmt: skip

_CASES = {
    "ok": ("well-formed", "Share of responses in the requested format."),
    "no_think": ("no thought", "Share of responses without a <think> part."),
    "no_answer": ("no answer", "Share of responses without an <answer> part, so without an action."),
    "empty_answer": ("empty answer", "Share of responses whose <answer> part is empty."),
    "unclosed": ("unclosed tag", "Share of responses with a tag that is never closed."),
    "text_outside": (
        "text outside tags",
        "Share of responses with text before, between or after the two parts, or with tags inside them.",
    ),
    "unknown_action": ("unknown action", "Share of responses with an action that the environment does not have."),
    "cut_off": ("truncated", "Share of responses that were cut off at the token limit."),
    "empty_response": ("empty", "Share of responses with only special tokens and whitespace."),
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
