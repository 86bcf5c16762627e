"""Whether reasoning still depends on what it is about. X is a prompt, Z the thought that follows it; nats."""

from __future__ import annotations

from engine.glossary.types import Metric

_PER_LENGTH = "The same on length-normalised scores, as RAGEN logs it. It is not a mutual information."
_TOP = (2, 4, 8)

ESTIMATES = (
    Metric(
        name="collapse/mi_ratio", section="collapse", title="Mutual information, share of ceiling", unit="share",
        high=1, better="higher",
        meaning="How much a thought depends on its prompt: 1 when each thought fits its own prompt alone, 0 when it "
        "fits all alike. Comparable between runs. In a run of several environments a thought is compared with prompts "
        "of its own alone, so to tell environments apart counts for nothing.",
        formula="I(X; Z) / ln N",
        bad="Near 0 while entropy is high: template collapse, varied words that ignore the state. Slightly under 0 is "
        "noise.",
    ),
    Metric(
        name="collapse/mi_sequence", section="collapse", title="Mutual information", unit="nats", better="higher",
        meaning="What a whole thought tells about which prompt it followed, estimated by scoring thoughts under each "
        "other's prompts.",
        formula="mean of [ln p(z|x) - ln mean over x' of p(z|x')] (arXiv 2604.06268)",
        bad="Near 0: thoughts ignore the state. It cannot pass ln N, so compare only at one N.",
    ),
    Metric(
        name="collapse/mi_ceiling", section="collapse", title="Ceiling of mutual information", unit="nats", low=0,
        meaning="The most that mutual information can show with this many prompts.",
        formula="ln N; of several environments the mean over thoughts of ln N of their own",
        bad="Changing between steps: then compare the share of the ceiling, not nats.",
    ),
    Metric(
        name="collapse/mi_zscore", section="collapse", title="Mutual information, z-score", better="higher",
        meaning="Mutual information in units of how much thoughts differ in plain likelihood.",
        formula="mean of (matched - marginal) / (std(marginal) + 0.001)",
        bad="Falling for long. It also grows without bound when thoughts become alike.",
    ),
    Metric(
        name="collapse/mi_token_compat", section="collapse", title="RAGEN's per-token MI", better="higher",
        meaning="RAGEN's length-normalised number, for comparison with its logs. It is not a mutual information.",
        formula="as mutual information, with ln p(z|x) / length",
        bad="Rising far above its start came before collapse in RAGEN's runs more often than falling.",
    ),
    Metric(
        name="collapse/conditional_entropy", section="collapse", title="H(Z|X)", unit="nats", low=0,
        meaning="How varied whole thoughts on one prompt are. It grows with their length.",
        formula="-mean of ln p(z|x)", bad="To 0: one fixed thought. Soaring: thoughts fall apart.",
    ),
    Metric(
        name="collapse/conditional_entropy_token", section="collapse", title="H(Z|X) per token", unit="nats", low=0,
        meaning="How varied thoughts on one prompt are, per token, so that their length does not matter.",
        formula="-mean of ln p(z|x) / length", bad="Over one and a half times its start: thoughts fall apart.",
    ),
    Metric(
        name="collapse/reasoning_entropy", section="collapse", title="H(Z)", unit="nats", low=0,
        meaning="How varied whole thoughts are over all prompts. It is H(Z|X) plus mutual information, exactly.",
        formula="-mean of ln mean over x' of p(z|x')", bad="Down to H(Z|X): prompts no longer make a difference.",
    ),
    Metric(
        name="collapse/retrieval_accuracy", section="collapse", title="Retrieval", unit="share", low=0, high=1,
        better="higher", meaning="Share of thoughts that are likelier under their own prompt than under any other.",
        formula="mean of [argmax over x' of p(z|x') is x]", bad="Down to chance: a thought fits every problem alike.",
    ),
    Metric(
        name="collapse/retrieval_chance", section="collapse", title="Retrieval by chance", unit="share", low=0, high=1,
        meaning="What guessing would reach with this many prompts.",
        formula="mean share of prompts of the environment equal to x; 1 / N",
        bad="High: there are few different prompts, so retrieval says little.",
    ),
    Metric(
        name="collapse/retrieval_above_chance", section="collapse", title="Retrieval above chance", unit="share",
        high=1, better="higher", meaning="How much better than guessing a thought tells which problem it is about.",
        formula="retrieval - chance",
        bad="Near 0: thoughts ignore the state. It falls in healthy runs too, so read it with success.",
    ),
    Metric(
        name="collapse/samples", section="collapse", title="Thoughts scored (M)", unit="thoughts", low=0,
        meaning="Number of thoughts in the estimate. Responses without a thought are left out.",
        bad="Falling: responses without thoughts; the estimate gets noisier.",
    ),
    Metric(
        name="collapse/prompts", section="collapse", title="Prompts (N)", unit="prompts", low=0,
        meaning="Number of different prompts that thoughts are scored under.", bad="2 or 3: the ceiling is low.",
    ),
)  # fmt: skip

STDS = (
    Metric(
        name="collapse/marginal_std", section="collapse", title="Spread of ln p(z)", unit="nats", low=0,
        meaning="How much thoughts differ in plain likelihood, whatever their prompt; what z-scores divide by.",
        formula="std of ln mean over x' of p(z|x')", bad="To 0: thoughts are all alike, and z-scores mean nothing.",
    ),
    Metric(
        name="collapse/marginal_std_ema", section="collapse", title="Spread of ln p(z), smoothed", unit="nats", low=0,
        meaning="The spread, smoothed over diagnostics.", formula="0.9 of the last + 0.1 of the new",
        bad="To 0: thoughts are all alike.",
    ),
    Metric(
        name="collapse/mi_zscore_ema", section="collapse", title="Mutual information, smoothed z-score",
        better="higher", meaning="Mutual information over the smoothed spread, so that one odd batch moves it less.",
        formula="mean of (matched - marginal) / (smoothed std(marginal) + 0.001)",
        bad="Half of its start: a weak warning, it came before 10 of 17 collapses of RAGEN's runs.",
    ),
)  # fmt: skip

COMPATIBLE = (
    Metric(
        name="collapse/mi_zscore_token_compat", section="collapse", title="RAGEN's per-token z-score", better="higher",
        meaning=_PER_LENGTH, formula="as the z-score, with ln p(z|x) / length", bad="Falling for long.",
    ),
    Metric(
        name="collapse/mi_zscore_ema_token_compat", section="collapse", title="RAGEN's smoothed per-token z-score",
        better="higher", meaning=_PER_LENGTH, formula="as the smoothed z-score, with ln p(z|x) / length",
        bad="Half of its start.",
    ),
    Metric(
        name="collapse/marginal_std_token_compat", section="collapse", title="RAGEN's per-token spread", low=0,
        meaning=_PER_LENGTH, formula="as the spread of ln p(z), with ln p(z|x) / length",
        bad="To 0: thoughts are alike.",
    ),
    Metric(
        name="collapse/marginal_std_ema_token_compat", section="collapse", title="RAGEN's smoothed per-token spread",
        low=0, meaning=_PER_LENGTH, formula="as the smoothed spread, with ln p(z|x) / length",
        bad="To 0: thoughts are alike.",
    ),
    Metric(
        name="collapse/matched_logprob_token", section="collapse", title="ln p(z|x) per token", unit="nats", high=0,
        meaning="How likely thoughts are under their own prompt, per token; RAGEN logs H(Z|X) per token under this "
        "sign as well.",
        formula="mean of ln p(z|x) / length", bad="Far below its start: thoughts fall apart.",
    ),
    Metric(
        name="collapse/marginal_logprob_token_compat", section="collapse", title="RAGEN's ln p(z) per token",
        unit="nats", high=0, meaning=_PER_LENGTH, formula="mean of ln mean over x' of exp(ln p(z|x') / length)",
        bad="Up to ln p(z|x): prompts no longer make a difference.",
    ),
    Metric(
        name="collapse/reasoning_entropy_token_compat", section="collapse", title="RAGEN's H(Z) per token",
        unit="nats", low=0, meaning=_PER_LENGTH, formula="as H(Z), with ln p(z|x) / length",
        bad="Down to H(Z|X) per token: prompts no longer make a difference.",
    ),
)  # fmt: skip

RETRIEVAL = tuple(
    entry
    for k in _TOP
    for entry in (
        Metric(
            name=f"collapse/retrieval_accuracy_at_{k}", section="collapse", title=f"Retrieval among {k}", unit="share",
            low=0, high=1, better="higher",
            meaning=f"Share of thoughts whose own prompt is among the {k} under which they are likeliest.",
            formula=f"mean of [x among the {k} largest p(z|x')]", bad="Down to chance: thoughts ignore the state.",
        ),
        Metric(
            name=f"collapse/retrieval_chance_at_{k}", section="collapse", title=f"Retrieval among {k} by chance",
            unit="share", low=0, high=1, meaning=f"What guessing {k} prompts would reach.",
            formula=f"mean over thoughts of {k} / N, at most 1", bad="Near 1: with so few prompts it says nothing.",
        ),
        Metric(
            name=f"collapse/retrieval_above_chance_at_{k}", section="collapse", title=f"Retrieval among {k}, above "
            "chance", unit="share", high=1, better="higher", meaning=f"How much better than guessing {k} prompts.",
            formula=f"retrieval among {k} - its chance", bad="Near 0: thoughts ignore the state, or N is no more than "
            f"{k}.",
        ),
    )
)  # fmt: skip

SAMPLING = (
    Metric(
        name="collapse/valid_thought_rate", section="collapse", title="Turns with a thought", unit="share", low=0,
        high=1, better="higher", meaning="Share of all turns that closed a thought with something in it.",
        formula="turns with a thought / turns",
        bad="Under nine tenths of its start: an early warning, before 12 of 17 collapses of RAGEN's runs.",
    ),
    Metric(
        name="collapse/first_turns", section="collapse", title="First turns", unit="turns", low=0,
        meaning="Number of trajectories with a first turn.", bad="Falling: prompts no longer fit the context.",
    ),
    Metric(
        name="collapse/first_turns_valid", section="collapse", title="First turns with a thought", unit="turns", low=0,
        meaning="Number of first turns that thoughts can be sampled from.", bad="Falling: thoughts get lost.",
    ),
    Metric(
        name="collapse/first_turn_valid_rate", section="collapse", title="First turns with a thought, share",
        unit="share", low=0, high=1, better="higher", meaning="Share of first turns with a thought.",
        formula="first turns with a thought / first turns", bad="Falling: thoughts get lost.",
    ),
)  # fmt: skip

TEMPLATES = (
    Metric(
        name="collapse/template_share", section="collapse", title="Thoughts that are templates", unit="share", low=0,
        high=1, better="lower",
        meaning="Share of thoughts that nearly repeat a thought on a different prompt. Some are right to: two problems "
        "may call for the same words.",
        formula="thoughts in clusters that span two prompts or more / thoughts",
        bad="Rising far over its start: one thought serves many states. The run's Collapse tab shows the words.",
    ),
    Metric(
        name="collapse/largest_template", section="collapse", title="Largest template", unit="share", low=0, high=1,
        better="lower", meaning="Share of thoughts in the largest cluster that spans two prompts or more.",
        formula="thoughts of that cluster / thoughts", bad="Towards 1: every problem gets the same thought.",
    ),
)  # fmt: skip

ENTRIES = (*ESTIMATES, *STDS, *COMPATIBLE, *RETRIEVAL, *SAMPLING, *TEMPLATES)
