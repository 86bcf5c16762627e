"""Results as files and as a table. `summary.json` is written last: if it is there, the other two are complete."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.config import RunConfig
from engine.errors import ConfigError
from engine.evaluation.evaluation import Outcome
from engine.evaluation.results import Result
from engine.evaluation.revision import REVISION
from engine.evaluation.summary import Summary
from engine.versions import versions_of

ROWS, TABLE, SUMMARY = "results.jsonl", "results.parquet", "summary.json"


ROLLOUT_FIELDS = {"think", "context", "max_context_tokens"}


def prepare_directory(path: Path) -> None:
    """Creates `path` before anything is played. Existing results are not overwritten."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"--out {path} cannot be created: {error.strerror}.", remedy="Give another directory."
        ) from None
    if found := [name for name in (ROWS, TABLE, SUMMARY) if (path / name).exists()]:
        raise ConfigError(f"--out {path} already has {found[0]}.", remedy="Give another directory, or move the file.")


def write(outcome: Outcome, config: RunConfig, path: Path) -> None:
    lines = "".join(json.dumps(result.row()) + "\n" for result in outcome.results)
    _replace(path / ROWS, lambda part: part.write_text(lines, encoding="utf-8"))
    _replace(path / TABLE, lambda part: write_parquet(outcome.results, part))
    text = json.dumps(described(outcome, config), indent=1) + "\n"
    _replace(path / SUMMARY, lambda part: part.write_text(text, encoding="utf-8"))


def described(outcome: Outcome, config: RunConfig) -> dict[str, Any]:
    """Everything needed to compare these results with others."""
    return {
        "evaluator": REVISION,
        "complete": outcome.complete,
        "failure": str(outcome.failure) if outcome.failure else "",
        "model": outcome.model,
        "endpoint": outcome.address,
        "seeds": outcome.plan.seeds,
        "samples": outcome.plan.samples,
        "temperatures": outcome.plan.temperatures,
        "unscored": outcome.unscored,
        "summaries": [summary.fields() for summary in outcome.summaries],
        "notes": outcome.notes,
        "environments": [environment.model_dump(mode="json") for environment in outcome.plan.environments],
        "rollout": config.rollout.model_dump(mode="json", include={"think", "context", "max_context_tokens"}),
        "versions": versions_of("torch", "transformers", "httpx2"),
    }


def write_parquet(results: list[Result], path: Path) -> None:
    """One column per field with a fixed type, also for a column of only None."""
    import pyarrow
    from pyarrow import parquet

    kinds = {
        "environment": pyarrow.string(),
        "seed": pyarrow.int64(),
        "sample": pyarrow.int64(),
        "success": pyarrow.bool_(),
        "return": pyarrow.float64(),
        "turns": pyarrow.int64(),
        "actions": pyarrow.int64(),
        "tokens": pyarrow.int64(),
        "prompt_tokens": pyarrow.int64(),
        "parse_failures": pyarrow.int64(),
        "stop": pyarrow.string(),
        "seconds": pyarrow.float64(),
        "model": pyarrow.string(),
        "temperature": pyarrow.float64(),
        "error": pyarrow.string(),
        "problem_seed": pyarrow.int64(),
        "problem": pyarrow.string(),
        "trained_on": pyarrow.bool_(),
    }
    table = pyarrow.Table.from_pylist([result.row() for result in results], schema=pyarrow.schema(list(kinds.items())))
    parquet.write_table(table, path, compression="zstd")


COLUMNS: dict[str, Callable[[Summary], str]] = {
    "environment": lambda summary: summary.environment,
    "temperature": lambda summary: f"{summary.temperature:g}",
    "success": lambda summary: _number(summary.success),
    "95% interval": lambda summary: f"{_number(summary.low)} to {_number(summary.high)}",
    "seen in training": lambda summary: _of(summary.trained_on, summary.scored),
    "prompts": lambda summary: str(summary.prompts),
    "episodes": lambda summary: str(summary.episodes),
    "not scored": lambda summary: str(summary.unscored),
    "return": lambda summary: _number(summary.mean_return),
    "turns": lambda summary: _number(summary.mean_turns, digits=2),
    "tokens": lambda summary: f"{summary.tokens:,}" if summary.tokens is not None else "unknown",
    "parse failures": lambda summary: f"{summary.parse_failures} of {summary.responses}",
}


def table(outcome: Outcome) -> str:
    """The summaries as text for a terminal, with pass@k for several samples, and the methods of the intervals."""
    columns = dict(COLUMNS)
    if outcome.plan.samples > 1:
        for k in outcome.summaries[0].pass_at:
            columns[f"pass@{k}"] = lambda summary, k=k: _number(summary.pass_at[k])  # type: ignore[misc]
        last = outcome.plan.samples
        columns[f"pass^{last}"] = lambda summary: _number(summary.pass_all[last])
    rows = [list(columns), *([cell(summary) for cell in columns.values()] for summary in outcome.summaries)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(columns))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines.insert(1, "  ".join("-" * width for width in widths))
    methods = dict.fromkeys(summary.interval for summary in outcome.summaries if summary.interval)
    return "\n".join([f"model: {outcome.model}", *lines, *(f"Interval: {m}." for m in methods), *outcome.notes])


def _of(part: int | None, whole: int) -> str:
    return "unknown" if part is None else f"{part} of {whole}"


def _number(value: float | None, *, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def _replace(path: Path, write_to: Callable[[Path], object]) -> None:
    part = path.with_name(f".{path.name}.part")
    write_to(part)
    part.replace(path)
