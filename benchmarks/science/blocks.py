"""What the pages of findings have from recorded data: tables, figures, and the list of questions with their answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import fmean
from textwrap import fill
from typing import Any

from benchmarks.science import detection_tables, generalisation, mi_and_success, rescue, verdicts
from benchmarks.science.__main__ import FINDINGS, is_recorded
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.experiment import Experiment
from benchmarks.science.table import interval_text, means_table, table
from engine.metrics import describe

BUCKETS = range(1, 7)
NOT_RUN = "**Defined, not run yet.**"
PARTLY_RUN = "**Partly run.**"
WIDTH = 120  # of a line of the docs
INDENTED: dict[str, Any] = {"initial_indent": "  ", "subsequent_indent": "  ", "break_on_hyphens": False}
OTHERS = ("mi_and_success", "generalisation", "detection", "verdicts", "rescue")  # pages that are no experiment
SIGNS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "less than 90% of responses are well-formed": ("rollout/parse_ok_rate", lambda now, first: now < 0.9),
    "success is below half of its initial value": ("rollout/success", lambda now, first: now < first / 2),
    "entropy is above 1.5 times its initial value": ("policy/entropy", lambda now, first: now > 1.5 * first),
    "mutual information is below half of its initial value": (
        "collapse/mi_ratio",
        lambda now, first: now < first / 2,
    ),
}


def block(name: str) -> str:
    """The text between the markers of this name."""
    if name in EXPERIMENTS:
        return experiment_block(EXPERIMENTS[name])
    return BLOCKS[name]()


def results_of(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((FINDINGS / f"{name}.json").read_text())
    return found


def experiment_block(experiment: Experiment) -> str:
    """What is compared, where that comes from, and the results if there are any."""
    text = [
        experiment.sweep.notes.strip(),
        *([fill(experiment.sweep.source, WIDTH)] if experiment.sweep.source else []),
    ]
    if not is_recorded(experiment):
        count = len(experiment.arms) * len(experiment.seeds)
        labels = "; ".join(arm.label for arm in experiment.arms)
        text += [
            fill(
                f"{len(experiment.arms)} arms: {labels}. With {len(experiment.seeds)} seeds these are {count} runs.",
                WIDTH,
            )
        ]
        return "\n\n".join([*text, f"```bash\npython -m benchmarks.science {experiment.name}\n```"])
    titles = [describe(name).title for name in experiment.curves]
    figure = f"![{', '.join(titles)}]({experiment.name}.svg)"
    return "\n\n".join([*text, table(results_of(experiment.name)), figure, *means(experiment)])


def means(experiment: Experiment) -> Iterator[str]:
    """Its second table, if it has one."""
    if any(name.startswith("gradient/bucket_") for name in experiment.means):
        yield buckets_table(experiment.name)
    elif experiment.means:
        yield means_table(results_of(experiment.name))


def generalisation_block() -> str:
    if is_open("generalisation"):
        return "```bash\npython -m benchmarks.science.generalisation\n```"
    return generalisation.table(results_of("generalisation"))


def first_steps() -> str:
    """Of each seed of the learning-rate ramp, the first step at which a sign shows."""
    results = sorted(results_of("along_a_collapse"), key=lambda one: int(one["seed"]))
    lines = [f"| first step at which | {' | '.join('seed ' + str(one['seed']) for one in results)} |"]
    lines.append("|---" * (1 + len(results)) + "|")
    for title, (metric, shows) in SIGNS.items():
        lines.append(f"| {title} | {' | '.join(_first(one['curves'][metric], shows) for one in results)} |")
    lines.append(f"| success stays below 5% | {' | '.join(str(one['collapsed_at']) for one in results)} |")
    return "\n".join(lines)


def _first(curve: Sequence[Sequence[float]], shows: Callable[[float, float], bool]) -> str:
    start = curve[0][1]
    return str(next((int(step) for step, value in curve if shows(value, start)), "–"))


def buckets_table(name: str) -> str:
    """Gradient norms by bucket of within-group reward std, as means over the measured steps."""
    results = results_of(name)
    arms = list(dict.fromkeys(one["arm"] for one in results))
    lines = [f"| bucket by reward std | {' | '.join(map(str, BUCKETS))} |", "|---" * (1 + len(BUCKETS)) + "|"]
    for arm in arms:
        means = [one["means"] for one in results if one["arm"] == arm]
        of = f"{arm}: " if len(arms) > 1 else ""
        for title, key in (("reward std", "reward_std"), ("task gradient", "task"), ("entropy gradient", "entropy")):
            values = [[one[f"gradient/bucket_{number}/{key}"] for one in means] for number in BUCKETS]
            cells = [interval_text(found) if key == "task" else f"{fmean(found):.2g}" for found in values]
            lines.append(f"| {of}{title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def index() -> str:
    """A line for each page with results: its question and its first paragraph, which is the answer."""
    return "\n".join(_line(FINDINGS / f"{name}.md") for name in pages() if not is_open(name))


def open_questions() -> str:
    return "\n".join(_line(FINDINGS / f"{name}.md") for name in pages() if is_open(name)) or "None: all have been run."


def is_open(name: str) -> bool:
    """Whether it is an experiment without results."""
    return name in (*EXPERIMENTS, "generalisation") and not (FINDINGS / f"{name}.json").exists()


def pages() -> list[str]:
    """Experiments in the order of the catalogue, then the others in theirs, then those of neither."""
    known = [*EXPERIMENTS, *OTHERS]
    return sorted(
        (path.stem for path in FINDINGS.glob("*.md")),
        key=lambda name: (known.index(name) if name in known else len(known), name),
    )


def _line(path: Path) -> str:
    """The answer is the first paragraph in bold; a page in progress may have none yet."""
    title, *paragraphs = path.read_text().split("\n\n")
    answer = next((one for one in paragraphs if one.startswith("**") and one.endswith("**")), "")
    link = f"* [{title.removeprefix('# ')}](findings/{path.name})"
    if answer in ("", NOT_RUN, PARTLY_RUN):
        return link
    return f"{link}\n{fill(' '.join(answer[2:-2].split()), WIDTH, **INDENTED)}"


BLOCKS: dict[str, Callable[[], str]] = {
    "index": index,
    "open_questions": open_questions,
    "first_steps": first_steps,
    "families": detection_tables.runs_table,
    "default_limits": detection_tables.default_limits,
    "without_collapses": detection_tables.without_collapses,
    "chosen_limits": detection_tables.chosen_limits,
    "first_signs": detection_tables.verdict_stages,
    "stages": lambda: verdicts.stages_table(verdicts.recorded_runs()),
    "rescue_causes": lambda: rescue.causes_table(results_of("rescue")),
    "mi_and_success": mi_and_success.table,
    "generalisation": generalisation_block,
    "rescue": lambda: rescue.table(results_of("rescue")),
}
