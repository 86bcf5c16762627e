"""The glossary's entries, by section. Names that other trainers use are mapped at the end."""

from __future__ import annotations

from engine.metric_types import Metric

SECTIONS: tuple[tuple[str, str], ...] = (
    ("reward", "Reward"),
    ("env", "Environments"),
    ("eval", "Held-out evaluation"),
    ("rollout", "Rollouts and format"),
    ("policy", "Policy"),
    ("value", "Critic"),
    ("optim", "Optimisation"),
    ("filter", "Filter"),
    ("collapse", "Collapse"),
    ("gradient", "Gradients"),
    ("time", "Time"),
    ("perf", "Throughput"),
)

# the six curves every run shows first; a panel's names share one chart
OVERVIEW: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Success", ("rollout/success", "eval/success")),
    ("Reward", ("reward/mean", "reward/in_group_std")),
    ("Policy entropy", ("policy/entropy",)),
    ("Mutual information", ("collapse/mi_ratio", "collapse/retrieval_above_chance")),
    ("Gradient norm", ("optim/grad_norm",)),
    ("Reply length", ("rollout/reply_tokens",)),
)

_REWARD = (
    Metric(
        name="reward/mean", section="reward", title="Reward mean", better="higher",
        meaning="Mean score of the step's trajectories: environment rewards plus format penalties.",
        formula="mean over trajectories of (sum of rewards + penalties)",
        bad="Flat from the start: no signal. Falling while success holds: penalties grow, look at parsing.",
    ),
    Metric(
        name="reward/std", section="reward", title="Reward spread", low=0,
        meaning="Standard deviation of scores over all trajectories of the step.", formula="population std of scores",
        bad="Near 0: every trajectory earns the same, whatever it does.",
    ),
    Metric(
        name="reward/in_group_std", section="reward", title="In-group reward std", low=0,
        meaning="Mean over puzzles of the spread of returns among trajectories of the same puzzle. Group-relative "
        "advantages are made of it, and its fall came before collapse in RAGEN's runs.",
        formula="mean over groups of the unbiased std of raw returns",
        bad="Below a tenth of its first values: nothing left to learn from, by success or by collapse.",
    ),
    Metric(name="reward/min", section="reward", title="Lowest reward", meaning="Lowest score of the step."),
    Metric(name="reward/max", section="reward", title="Highest reward", meaning="Highest score of the step."),
    Metric(
        name="reward/penalty", section="reward", title="Format penalty", high=0,
        meaning="Mean penalty per trajectory for malformed replies and unknown actions.",
        bad="Moving away from 0: the reply format is breaking.", better="higher",
    ),
)  # fmt: skip

_ENV = (
    Metric(
        name="env/<tag>/success", section="env", title="<tag>: training success", low=0, high=1, better="higher",
        meaning="Share of training trajectories that solved their puzzle.", unit="share",
        bad="0 for several steps after it was above: the policy has collapsed.",
    ),
    Metric(
        name="env/<tag>/return", section="env", title="<tag>: return", better="higher",
        meaning="Mean sum of environment rewards, penalties left out.",
    ),
    Metric(
        name="env/<tag>/turns", section="env", title="<tag>: turns", meaning="Mean replies per trajectory.", low=0
    ),
    Metric(
        name="env/<tag>/actions", section="env", title="<tag>: actions", low=0,
        meaning="Mean executed actions per trajectory.",
    ),
    Metric(
        name="env/<tag>/effective_rate", section="env", title="<tag>: effective actions", low=0, high=1,
        meaning="Share of executed actions that changed anything.", unit="share", better="higher",
        bad="Falling: the agent walks into walls.",
    ),
)  # fmt: skip

_EVAL = (
    Metric(
        name="eval/<tag>/success", section="eval", title="<tag>: held-out success", low=0, high=1, better="higher",
        meaning="Share of held-out puzzles solved; none of them is ever trained on.", unit="share",
        formula="successes / episodes, with Wilson's 95% interval",
        bad="Far below training success: it learns the puzzles, not the game.",
    ),
    Metric(
        name="eval/<tag>/success_low", section="eval", title="<tag>: held-out success, lower bound", low=0, high=1,
        meaning="Lower end of Wilson's 95% interval.",
    ),
    Metric(
        name="eval/<tag>/success_high", section="eval", title="<tag>: held-out success, upper bound", low=0, high=1,
        meaning="Upper end of Wilson's 95% interval.",
    ),
    Metric(
        name="eval/<tag>/return", section="eval", title="<tag>: held-out return", better="higher",
        meaning="Mean return on held-out puzzles.",
    ),
    Metric(
        name="eval/success", section="eval", title="Held-out success", low=0, high=1, better="higher",
        meaning="Share of held-out puzzles solved, with Wilson's 95% interval.", unit="share",
    ),
)  # fmt: skip

_ROLLOUT = (
    Metric(
        name="rollout/success", section="rollout", title="Training success", low=0, high=1, better="higher",
        meaning="Share of the step's trajectories that solved their puzzle.", unit="share",
        bad="0 for five steps in a row: dead.",
    ),
    Metric(
        name="rollout/reply_tokens", section="rollout", title="Reply length", unit="tokens", low=0,
        meaning="Mean sampled tokens per reply.",
        bad="Shrinking to almost nothing: it no longer thinks. At the limit: replies are cut off before their answer.",
    ),
    Metric(
        name="rollout/trajectory_tokens", section="rollout", title="Trajectory length", unit="tokens", low=0,
        meaning="Mean tokens of a whole trajectory, prompts included.",
    ),
    Metric(name="rollout/turns", section="rollout", title="Turns", meaning="Mean replies per trajectory.", low=0),
    Metric(
        name="rollout/actions_per_turn", section="rollout", title="Actions per reply", low=0,
        meaning="Mean actions that a reply names, up to its allowance.",
    ),
    Metric(
        name="rollout/parse_ok_rate", section="rollout", title="Well-formed replies", unit="share", low=0, high=1,
        meaning="Share of replies in the asked-for format.", better="higher",
        bad="Below one half: the format has broken down, and no reward can be earned.",
    ),
    Metric(
        name="rollout/parse/<case>", section="rollout", title="Replies: <case>", unit="share", low=0, high=1,
        meaning="Share of replies with this reading.",
    ),
    Metric(
        name="rollout/invalid_action_rate", section="rollout", title="Unknown actions", unit="share", low=0, high=1,
        meaning="Share of replies that name an action that does not exist.", better="lower",
    ),
    Metric(
        name="rollout/cut_off_rate", section="rollout", title="Cut-off replies", unit="share", low=0, high=1,
        meaning="Share of replies that hit the token limit before they were complete.", better="lower",
        bad="Rising: replies ramble, or the limit is too low.",
    ),
    Metric(
        name="rollout/zero_variance_share", section="rollout", title="Groups without spread", unit="share", low=0,
        high=1, meaning="Share of puzzles whose trajectories all earned the same.",
        bad="Near 1: almost no group teaches anything.",
    ),
)  # fmt: skip

_POLICY = (
    Metric(
        name="policy/entropy", section="policy", title="Policy entropy", unit="nats", low=0,
        meaning="Mean entropy of the sampling distribution at sampled tokens.", formula="-sum p ln p",
        bad="To 0: it has stopped exploring. Several times its start: replies turn into noise.",
    ),
    Metric(
        name="policy/loss", section="policy", title="Policy loss",
        meaning="The clipped objective, as a loss. Its size says little; its jumps do.",
        formula="max(-A r, -A clip(r, 1 - low, 1 + high)), bounded by the dual clip",
    ),
    Metric(
        name="policy/kl", section="policy", title="KL of one step", unit="nats",
        meaning="How far the step's updates moved the policy from the one that sampled.",
        formula="mean of old minus new log-probability", bad="Above about 0.1: steps are too large.",
    ),
    Metric(
        name="policy/kl_to_start", section="policy", title="KL to the start", unit="nats", low=0,
        meaning="Distance to the model that the run began with; measured when it is penalised.",
    ),
    Metric(
        name="policy/clip_fraction", section="policy", title="Clipped tokens", unit="share", low=0,
        meaning="Share of tokens whose ratio the clip holds back.", bad="Above 0.3: steps are too large.",
    ),
    Metric(
        name="policy/clip_fraction_low", section="policy", title="Dual-clipped tokens", unit="share", low=0,
        meaning="Share of tokens with a negative advantage that the dual clip bounds.",
    ),
    Metric(
        name="policy/ratio_max", section="policy", title="Largest ratio", low=0, log=True,
        meaning="Largest ratio of new to old probability of a sampled token.", bad="Thousands: the policy jumped.",
    ),
    Metric(
        name="policy/sampler_kl", section="policy", title="Sampler against learner", unit="nats",
        meaning="Difference of log-probabilities between the sampler and the learner before any update.",
        bad="Not close to 0: what is trained is not what was sampled.",
    ),
)  # fmt: skip

_VALUE = (
    Metric(
        name="value/loss", section="value", title="Critic loss", meaning="Clipped squared error of the critic.", low=0
    ),
    Metric(
        name="value/explained_variance", section="value", title="Explained variance", high=1, better="higher",
        meaning="Share of the returns' variance that the critic foresees.", formula="1 - Var(R - V) / Var(R)",
        bad="Below 0: worse than a constant.",
    ),
    Metric(
        name="value/clip_fraction", section="value", title="Clipped values", low=0, meaning="Share of values held back."
    ),
)  # fmt: skip

_OPTIM = (
    Metric(
        name="optim/grad_norm", section="optim", title="Gradient norm", low=0, log=True,
        meaning="Norm of the policy's gradient before clipping, mean over the step's updates.",
        bad="Spikes of several times its usual: often the first sign of a collapse that cannot be undone.",
    ),
    Metric(
        name="optim/critic_grad_norm", section="optim", title="Critic gradient norm", low=0, log=True,
        meaning="Norm of the critic's gradient before clipping.",
    ),
    Metric(
        name="optim/learning_rate", section="optim", title="Learning rate", low=0, meaning="Of the policy, this step."
    ),
    Metric(
        name="optim/nonfinite", section="optim", title="Dropped updates", low=0, better="lower",
        meaning="Updates of the step that were dropped for a gradient that is not finite.", bad="Anything above 0.",
    ),
)  # fmt: skip

_FILTER = (
    Metric(
        name="filter/kept_ratio", section="filter", title="Kept groups", unit="share", low=0, high=1,
        meaning="Share of groups that trained this step.", bad="0: the step was skipped for want of signal.",
    ),
    Metric(
        name="filter/kept_groups", section="filter", title="Kept groups, number", low=0, meaning="Groups that trained."
    ),
    Metric(
        name="filter/zero_groups", section="filter", title="Groups with no spread", low=0,
        meaning="Groups whose returns are all equal.",
    ),
    Metric(
        name="filter/threshold", section="filter", title="Lowest kept spread", low=0,
        meaning="Smallest in-group standard deviation among the kept groups.",
    ),
)  # fmt: skip

_COLLAPSE = (
    Metric(
        name="collapse/mi_ratio", section="collapse", title="MI / ln N", high=1, better="higher",
        meaning="How much of a thought's wording is decided by its prompt, as a share of the ceiling.",
        formula="I(X; Z) / ln N, N prompts (arXiv 2604.06268)",
        bad="Near 0 while entropy is high: template collapse, varied words that ignore the state.",
    ),
    Metric(
        name="collapse/mi_sequence", section="collapse", title="Mutual information", unit="nats",
        meaning="Mutual information of prompt and thought, estimated by scoring thoughts under each other's prompts.",
        formula="mean of ln p(z|x) - ln mean over prompts of p(z|x')", better="higher",
        bad="Near 0. It cannot pass ln N, so compare only at one N.",
    ),
    Metric(
        name="collapse/mi_ceiling", section="collapse", title="Ceiling ln N", unit="nats", low=0,
        meaning="The most that mutual information can show with this many prompts.",
    ),
    Metric(name="collapse/mi_zscore", section="collapse", title="MI z-score", meaning="MI over the marginal's spread."),
    Metric(
        name="collapse/mi_token_compat", section="collapse", title="MI per token (RAGEN)",
        meaning="RAGEN's length-normalised number, for comparison; it is not a mutual information.",
    ),
    Metric(
        name="collapse/conditional_entropy", section="collapse", title="H(Z|X)", unit="nats", low=0,
        meaning="Entropy of a whole thought given its prompt: how varied the thinking is on one puzzle.",
        formula="-mean of ln p(z|x)", bad="To 0: one fixed thought. Soaring: thoughts fall apart.",
    ),
    Metric(
        name="collapse/conditional_entropy_token", section="collapse", title="H(Z|X) per token", unit="nats", low=0,
        meaning="The same, per token of the thought.",
    ),
    Metric(
        name="collapse/reasoning_entropy", section="collapse", title="H(Z)", unit="nats", low=0,
        meaning="Entropy of a thought over all prompts: H(Z|X) plus mutual information.",
    ),
    Metric(
        name="collapse/retrieval_accuracy", section="collapse", title="Retrieval", unit="share", low=0, high=1,
        meaning="Share of thoughts that are likeliest under their own prompt.", better="higher",
    ),
    Metric(
        name="collapse/retrieval_chance", section="collapse", title="Retrieval by chance", unit="share", low=0, high=1,
        meaning="What guessing would reach.",
    ),
    Metric(
        name="collapse/retrieval_above_chance", section="collapse", title="Retrieval above chance", unit="share",
        high=1, meaning="Retrieval minus what guessing reaches.", better="higher",
        bad="Near 0: a thought no longer tells which puzzle it is about.",
    ),
    Metric(name="collapse/samples", section="collapse", title="Thoughts scored", meaning="M of the estimate.", low=0),
    Metric(name="collapse/prompts", section="collapse", title="Prompts", meaning="N of the estimate.", low=0),
)  # fmt: skip

_TIME = tuple(
    Metric(name=f"time/{name}", section="time", title=title, unit="s", low=0, meaning=meaning, better="lower")
    for name, title, meaning in (
        ("step", "Step", "Wall time of the whole step, evaluation and checkpoint left out."),
        ("rollout", "Rollout", "Sampling and environments."),
        ("diagnostics", "Diagnostics", "Collapse diagnostics."),
        ("update", "Update", "Advantages and gradient steps."),
        ("capture", "Capture", "Writing the step's trajectories."),
        ("evaluation", "Evaluation", "Held-out episodes."),
        ("checkpoint", "Checkpoint", "Saving."),
    )
)

_PERF = (
    Metric(
        name="perf/sampled_tokens_per_second", section="perf", title="Sampled tokens", unit="tokens/s", low=0,
        meaning="Sampled tokens per second of rollout.", better="higher",
    ),
    Metric(
        name="perf/trained_tokens_per_second", section="perf", title="Trained tokens", unit="tokens/s", low=0,
        meaning="Tokens of kept trajectories per second of update.", better="higher",
    ),
    Metric(
        name="perf/memory_mb", section="perf", title="Memory", unit="MB", low=0, meaning="Peak memory of the engine.",
    ),
)  # fmt: skip

ENTRIES: tuple[Metric, ...] = (
    *_REWARD, *_ENV, *_EVAL, *_ROLLOUT, *_POLICY, *_VALUE, *_OPTIM, *_FILTER, *_COLLAPSE, *_TIME, *_PERF,
)  # fmt: skip

# what RAGEN and verl call them
FOREIGN_NAMES: dict[str, str] = {
    "actor/entropy": "policy/entropy",
    "actor/pg_loss": "policy/loss",
    "actor/ppo_kl": "policy/kl",
    "actor/kl_loss": "policy/kl_to_start",
    "actor/pg_clipfrac": "policy/clip_fraction",
    "actor/pg_clipfrac_lower": "policy/clip_fraction_low",
    "actor/grad_norm": "optim/grad_norm",
    "actor/lr": "optim/learning_rate",
    "critic/grad_norm": "optim/critic_grad_norm",
    "critic/vf_loss": "value/loss",
    "critic/vf_explained_var": "value/explained_variance",
    "critic/score/mean": "reward/mean",
    "rollout/in_group_std": "reward/in_group_std",
    "rollout/in_group_reward_std": "reward/in_group_std",
    "rollout/filter_kept_ratio": "filter/kept_ratio",
    "rollout/filter_zero_count": "filter/zero_groups",
    "train/response_length": "rollout/reply_tokens",
    "collapse/mi_seq_estimate": "collapse/mi_sequence",
    "collapse/mi_estimate": "collapse/mi_token_compat",
    "collapse/mi_upper_bound": "collapse/mi_ceiling",
    "collapse/conditional_entropy_seq_est": "collapse/conditional_entropy",
    "collapse/conditional_entropy_est": "collapse/conditional_entropy_token",
    "timing_s/gen": "time/rollout",
    "timing_s/update_actor": "time/update",
    "timing_s/step": "time/step",
}
