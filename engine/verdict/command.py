"""`python -m engine assess`: the verdict on a recorded run, by the rules of this version. No torch."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from pydantic import ValidationError

from engine.config import RunConfig
from engine.errors import RunDirectoryError
from engine.verdict.assessor import Settings
from engine.verdict.format_changes import shown
from engine.verdict.recorded import assessor_after, recorded_verdict
from engine.verdict.regimes import REGIMES
from engine.verdict.types import Evidence, Verdict

EPILOG = """The verdict is computed again from events.jsonl, so a run that was recorded by older rules is assessed by
the ones that are installed; where the two differ, both are shown."""


def assess_main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m engine assess", description=__doc__, epilog=EPILOG)
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR", help="a run directory")
    parser.add_argument("--json", action="store_true", help="print the verdict as JSON, as the REST API has it")
    options = parser.parse_args(argv)
    events = options.run_dir / "events.jsonl"
    found = assessor_after(events, Settings.of(_config(options.run_dir))).verdict()
    if found is None:
        raise RunDirectoryError(f"{options.run_dir} has no steps.", remedy="Give a run with at least one step.")
    text = found.model_dump_json(indent=2) if options.json else report(found, recorded_verdict(events))
    sys.stdout.write(text + "\n")
    return 0


def _config(directory: Path) -> RunConfig:
    path = directory / "config.json"
    try:
        return RunConfig.model_validate(json.loads(path.read_text()))
    except FileNotFoundError:
        raise RunDirectoryError(f"There is no {path}.", remedy="Give the directory of a run.") from None
    except (ValueError, ValidationError) as error:
        raise RunDirectoryError(f"{path} is not a configuration: {error}", remedy="Give another run.") from None


def report(verdict: Verdict, recorded: Verdict | None) -> str:
    since = "" if verdict.since == verdict.step else f" since step {verdict.since}"
    lines = [f"{verdict.title}{since}, assessed after step {verdict.step} by rules {verdict.rules_version}"]
    if recorded is not None and (recorded.label, recorded.rules_version) != (verdict.label, verdict.rules_version):
        lines.append(
            f"recorded by the run: {recorded.title}, after step {recorded.step} by rules {recorded.rules_version}"
        )
    lines += ["", verdict.reason, verdict.summary, ""]
    lines += _table([("metric", "first", "now", "best", "limit"), *map(_row, verdict.evidence)])
    if (regime := verdict.regime) is not None:
        text = REGIMES[regime.key]
        lines += ["", f"{text.title} since step {regime.since}: {text.description}."]
        if regime.format_broken:
            lines.append("The format is breaking: fewer turns have a thought than at the start.")
    lines += ["", verdict.format_summary]
    lines += [
        f"  step {one.step:>5}  {one.title}: {shown(one.baseline, one.unit)} → {shown(one.value, one.unit)}, now "
        f"{shown(one.now, one.unit)}"
        for one in verdict.format_changes
    ]
    return "\n".join(lines)


def _row(one: Evidence) -> tuple[str, ...]:
    interval = "" if one.low is None or one.high is None else f" [{one.low:.2f}, {one.high:.2f}]"
    return one.title, f"{one.first:.2f}", f"{one.now:.2f}{interval}", f"{one.best:.2f}", one.limit


def _table(rows: list[tuple[str, ...]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
