"""Whether reasoning still depends on what it is about. X is a prompt, Z the thought that follows it; nats."""

from __future__ import annotations

from engine.glossary.types import Metric

ENTRIES = (
    Metric(
        name="collapse/mi_ratio", section="collapse", title="Mutual information, share of ceiling", unit="share",
        high=1, better="higher",
        meaning="How much a thought depends on its prompt: 1 when each thought fits its own prompt alone, 0 when it "
        "fits all alike. Comparable between runs.",
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
        meaning="The most that mutual information can show with this many prompts.", formula="ln N",
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
        formula="mean of [argmax over x' of p(z|x') is x]", bad="Down to chance: a thought fits every puzzle alike.",
    ),
    Metric(
        name="collapse/retrieval_chance", section="collapse", title="Retrieval by chance", unit="share", low=0, high=1,
        meaning="What guessing would reach with this many prompts.", formula="mean share of prompts equal to x; 1 / N",
        bad="High: there are few different prompts, so retrieval says little.",
    ),
    Metric(
        name="collapse/retrieval_above_chance", section="collapse", title="Retrieval above chance", unit="share",
        high=1, better="higher", meaning="How much better than guessing a thought tells which puzzle it is about.",
        formula="retrieval - chance",
        bad="Near 0: thoughts ignore the state. It falls in healthy runs too, so read it with success.",
    ),
    Metric(
        name="collapse/samples", section="collapse", title="Thoughts scored (M)", unit="thoughts", low=0,
        meaning="Number of thoughts in the estimate. Replies without a thought are left out.",
        bad="Falling: replies without thoughts; the estimate gets noisier.",
    ),
    Metric(
        name="collapse/prompts", section="collapse", title="Prompts (N)", unit="prompts", low=0,
        meaning="Number of different prompts that thoughts are scored under.", bad="2 or 3: the ceiling is low.",
    ),
)  # fmt: skip
