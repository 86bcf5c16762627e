"""Whether reasoning still depends on its prompt. X is a prompt, Z the thought that follows it; in nats."""

from __future__ import annotations

from engine.glossary.types import Metric

_PER_LENGTH = "The same on length-normalised scores, as RAGEN logs it. It is not a mutual information."
_TOP = (2, 4, 8)

ESTIMATES = (
    Metric(
        name="collapse/mi_ratio", section="collapse", title="Mutual information, share of ceiling", unit="share",
        high=1, better="higher",
        meaning="How much a thought depends on its prompt: 1 when each thought fits its own prompt only, 0 when it "
        "fits all prompts equally. Comparable between runs. With several environments a thought is compared with "
        "prompts of its own environment only.",
        formula="I(X; Z) / ln N",
        bad="Near 0 while entropy is high: template collapse, varied thoughts that ignore the state. Slightly below 0 "
        "is noise.",
    ),
    Metric(
        name="collapse/mi_sequence", section="collapse", title="Mutual information", unit="nats", better="higher",
        meaning="Mutual information between prompts and thoughts, estimated by scoring each thought under all prompts.",
        formula="mean of [ln p(z|x) - ln mean over x' of p(z|x')] (arXiv 2604.06268)",
        bad="Near 0: thoughts ignore the state. It cannot exceed ln N, so compare it only at equal N.",
    ),
    Metric(
        name="collapse/mi_ceiling", section="collapse", title="Mutual information, ceiling", unit="nats", low=0,
        meaning="The largest value that mutual information can have with this many prompts.",
        formula="ln N; with several environments the mean over thoughts of ln N of their environment",
        bad="Changing between steps: compare the share of the ceiling instead of nats.",
    ),
    Metric(
        name="collapse/mi_zscore", section="collapse", title="Mutual information, z-score", better="higher",
        meaning="Mutual information in units of the std of the thoughts' marginal log-likelihood.",
        formula="mean of (matched - marginal) / (std(marginal) + 0.001)",
        bad="Falling for many steps. It grows without bound when thoughts become identical.",
    ),
    Metric(
        name="collapse/mi_token_compat", section="collapse", title="Per-token MI (RAGEN)", better="higher",
        meaning="RAGEN's length-normalised estimate, for comparison with its logs. It is not a mutual information.",
        formula="as mutual information, with ln p(z|x) / length",
        bad="Rising far above its initial value preceded collapse in RAGEN's runs more often than falling did.",
    ),
    Metric(
        name="collapse/conditional_entropy", section="collapse", title="H(Z|X)", unit="nats", low=0,
        meaning="Conditional entropy: how varied whole thoughts on one prompt are. It grows with their length.",
        formula="-mean of ln p(z|x)",
        bad="To 0: one fixed thought per prompt. Far above its initial value: entropy blow-up.",
    ),
    Metric(
        name="collapse/conditional_entropy_token", section="collapse", title="H(Z|X) per token", unit="nats", low=0,
        meaning="How varied thoughts on one prompt are, per token, so that their length does not matter.",
        formula="-mean of ln p(z|x) / length", bad="Above 1.5 times its initial value: entropy blow-up.",
    ),
    Metric(
        name="collapse/reasoning_entropy", section="collapse", title="H(Z)", unit="nats", low=0,
        meaning="Entropy of whole thoughts over all prompts: H(Z|X) plus mutual information.",
        formula="-mean of ln mean over x' of p(z|x')", bad="Down to H(Z|X): prompts no longer make a difference.",
    ),
    Metric(
        name="collapse/retrieval_accuracy", section="collapse", title="Retrieval accuracy", unit="share", low=0, high=1,
        better="higher", meaning="Share of thoughts that are most likely under their own prompt.",
        formula="mean of [argmax over x' of p(z|x') is x]", bad="Down to chance: a thought fits every prompt equally "
        "well.",
    ),
    Metric(
        name="collapse/retrieval_chance", section="collapse", title="Retrieval accuracy, chance level", unit="share",
        low=0, high=1,
        meaning="Accuracy of guessing with this many prompts.",
        formula="mean share of prompts of the environment equal to x; 1 / N",
        bad="High: there are few distinct prompts, so retrieval says little.",
    ),
    Metric(
        name="collapse/retrieval_above_chance", section="collapse", title="Retrieval accuracy above chance",
        unit="share", high=1, better="higher",
        meaning="How much better than guessing the prompt can be identified from the thought.",
        formula="retrieval - chance",
        bad="Near 0: thoughts ignore the state. It falls in healthy runs too, so read it with success.",
    ),
    Metric(
        name="collapse/samples", section="collapse", title="Thoughts scored (M)", unit="thoughts", low=0,
        meaning="Number of thoughts in the estimate. Responses without a thought are left out.",
        bad="Falling: responses lose their thoughts, and the estimate gets noisier.",
    ),
    Metric(
        name="collapse/prompts", section="collapse", title="Prompts (N)", unit="prompts", low=0,
        meaning="Number of distinct prompts that thoughts are scored under.", bad="2 or 3: the ceiling is low.",
    ),
)  # fmt: skip

STDS = (
    Metric(
        name="collapse/marginal_std", section="collapse", title="Std of ln p(z)", unit="nats", low=0,
        meaning="Standard deviation of the thoughts' marginal log-likelihood, which z-scores divide by.",
        formula="std of ln mean over x' of p(z|x')", bad="To 0: thoughts are identical, and z-scores mean nothing.",
    ),
    Metric(
        name="collapse/marginal_std_ema", section="collapse", title="Std of ln p(z), smoothed", unit="nats", low=0,
        meaning="Exponential moving average of the std of ln p(z).", formula="0.9 old + 0.1 new",
        bad="To 0: thoughts are identical.",
    ),
    Metric(
        name="collapse/mi_zscore_ema", section="collapse", title="Mutual information, smoothed z-score",
        better="higher", meaning="Mutual information divided by the smoothed std, so that single batches matter less.",
        formula="mean of (matched - marginal) / (smoothed std(marginal) + 0.001)",
        bad="Half of its initial value: a weak sign, it preceded 10 of 17 collapses in RAGEN's runs.",
    ),
)  # fmt: skip

COMPATIBLE = (
    Metric(
        name="collapse/mi_zscore_token_compat", section="collapse", title="Per-token z-score (RAGEN)", better="higher",
        meaning=_PER_LENGTH, formula="as the z-score, with ln p(z|x) / length", bad="Falling for many steps.",
    ),
    Metric(
        name="collapse/mi_zscore_ema_token_compat", section="collapse", title="Smoothed per-token z-score (RAGEN)",
        better="higher", meaning=_PER_LENGTH, formula="as the smoothed z-score, with ln p(z|x) / length",
        bad="Half of its initial value.",
    ),
    Metric(
        name="collapse/marginal_std_token_compat", section="collapse", title="Per-token std of ln p(z) (RAGEN)", low=0,
        meaning=_PER_LENGTH, formula="as the std of ln p(z), with ln p(z|x) / length",
        bad="To 0: thoughts are identical.",
    ),
    Metric(
        name="collapse/marginal_std_ema_token_compat", section="collapse", title="Smoothed per-token std of ln p(z) "
        "(RAGEN)",
        low=0, meaning=_PER_LENGTH, formula="as the smoothed std, with ln p(z|x) / length",
        bad="To 0: thoughts are identical.",
    ),
    Metric(
        name="collapse/matched_logprob_token", section="collapse", title="ln p(z|x) per token", unit="nats", high=0,
        meaning="Mean log-likelihood of thoughts under their own prompt, per token: minus H(Z|X) per token.",
        formula="mean of ln p(z|x) / length", bad="Far below its initial value: entropy blow-up.",
    ),
    Metric(
        name="collapse/marginal_logprob_token_compat", section="collapse", title="Per-token ln p(z) (RAGEN)",
        unit="nats", high=0, meaning=_PER_LENGTH, formula="mean of ln mean over x' of exp(ln p(z|x') / length)",
        bad="Up to ln p(z|x): prompts no longer make a difference.",
    ),
    Metric(
        name="collapse/reasoning_entropy_token_compat", section="collapse", title="Per-token H(Z) (RAGEN)",
        unit="nats", low=0, meaning=_PER_LENGTH, formula="as H(Z), with ln p(z|x) / length",
        bad="Down to H(Z|X) per token: prompts no longer make a difference.",
    ),
)  # fmt: skip

RETRIEVAL = tuple(
    entry
    for k in _TOP
    for entry in (
        Metric(
            name=f"collapse/retrieval_accuracy_at_{k}", section="collapse", title=f"Retrieval accuracy, top {k}",
            unit="share", low=0, high=1, better="higher",
            meaning=f"Share of thoughts whose own prompt is among the {k} most likely ones.",
            formula=f"mean of [x among the {k} largest p(z|x')]", bad="Down to chance: thoughts ignore the state.",
        ),
        Metric(
            name=f"collapse/retrieval_chance_at_{k}", section="collapse", title=f"Retrieval accuracy, top {k}, "
            f"chance level",
            unit="share", low=0, high=1, meaning=f"Accuracy of guessing {k} prompts.",
            formula=f"mean over thoughts of {k} / N, at most 1", bad="Near 1: with so few prompts it says little.",
        ),
        Metric(
            name=f"collapse/retrieval_above_chance_at_{k}", section="collapse", title=f"Retrieval accuracy, top {k}, "
            "above chance", unit="share", high=1, better="higher", meaning=f"Top-{k} accuracy above that of guessing.",
            formula=f"top-{k} accuracy - chance level", bad="Near 0: thoughts ignore the state, or N is no more than "
            f"{k}.",
        ),
    )
)  # fmt: skip

SAMPLING = (
    Metric(
        name="collapse/valid_thought_rate", section="collapse", title="Turns with a thought", unit="share", low=0,
        high=1, better="higher", meaning="Share of all turns with a complete, non-empty thought.",
        formula="turns with a thought / turns",
        bad="Below 90% of its initial value: an early sign, it preceded 12 of 17 collapses in RAGEN's runs.",
    ),
    Metric(
        name="collapse/first_turns", section="collapse", title="First turns", unit="turns", low=0,
        meaning="Number of trajectories with a first turn.", bad="Falling: prompts no longer fit the context.",
    ),
    Metric(
        name="collapse/first_turns_valid", section="collapse", title="First turns with a thought", unit="turns", low=0,
        meaning="Number of first turns with a thought.", bad="Falling: responses lose their thoughts.",
    ),
    Metric(
        name="collapse/first_turn_valid_rate", section="collapse", title="First turns with a thought, share",
        unit="share", low=0, high=1, better="higher", meaning="Share of first turns with a thought.",
        formula="first turns with a thought / first turns", bad="Falling: responses lose their thoughts.",
    ),
)  # fmt: skip

TEMPLATES = (
    Metric(
        name="collapse/template_share", section="collapse", title="Template share", unit="share", low=0,
        high=1, better="lower",
        meaning="Share of thoughts that nearly repeat a thought on a different prompt. Some repetition is legitimate: "
        "two problems may need the same reasoning.",
        formula="thoughts in clusters that span two prompts or more / thoughts",
        bad="Rising far above its initial value: one thought is used for many states. The Collapse tab shows the "
        "texts.",
    ),
    Metric(
        name="collapse/largest_template", section="collapse", title="Largest template", unit="share", low=0, high=1,
        better="lower", meaning="Share of thoughts in the largest cluster that spans two prompts or more.",
        formula="thoughts of that cluster / thoughts", bad="Towards 1: every prompt gets the same thought.",
    ),
)  # fmt: skip

ENTRIES = (*ESTIMATES, *STDS, *COMPATIBLE, *RETRIEVAL, *SAMPLING, *TEMPLATES)
