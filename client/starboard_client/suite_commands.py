"""`starboard suites …` and `starboard evaluations …`: their arguments, and what each command does."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path

from starboard_client.client import Starboard
from starboard_client.errors import StarboardError
from starboard_client.output import as_json, note, number, say, table
from starboard_client.suite_models import Suite, SuiteEvaluation, SuiteEvaluationDetail, SuiteItem, SuiteResult
from starboard_client.verbs import (
    DONE,
    NOT_SUCCEEDED,
    TIMED_OUT,
    Verbs,
    add_json,
    add_limit,
    add_noun,
    add_output,
    add_watching,
    of_number,
)


def add_suites(nouns: Verbs[argparse.ArgumentParser]) -> None:
    verbs = add_noun(nouns, "suites", "list, show and define suites, and evaluate models on them")

    listed = verbs.add_parser("list", help="list the suites")
    add_json(listed)
    listed.set_defaults(do=list_suites)

    shown = verbs.add_parser("show", help="show a suite with its items")
    shown.add_argument("suite", help="the name of the suite")
    shown.add_argument("--toml", action="store_true", help="print its definition, to define another one from")
    add_json(shown)
    shown.set_defaults(do=show_suite)

    created = verbs.add_parser("create", help="define a suite from a TOML file")
    created.add_argument("definition", help="a TOML file")
    created.add_argument("--revises", default="", metavar="SUITE", help="make the next version of this suite of yours")
    created.set_defaults(do=create_suite)

    _add_evaluate(verbs)


def _add_evaluate(verbs: Verbs[argparse.ArgumentParser]) -> None:
    one = verbs.add_parser("evaluate", help="evaluate a checkpoint, a model directory or an endpoint on a suite")
    one.add_argument("suite", help="the name of the suite")
    source = one.add_mutually_exclusive_group(required=True)
    source.add_argument("--run", help="the ID of a run; with --step")
    source.add_argument("--directory", help="a bundled model, such as tiny, or a directory of the site")
    source.add_argument(
        "--endpoint", help="the address of an OpenAI-compatible server, for administrators; with --model"
    )
    one.add_argument("--step", type=int, default=0, help="the step of the run's checkpoint")
    one.add_argument("--model", default="", help="the model's name at the endpoint")
    one.add_argument("--key-variable", default="", help="the variable of the workers with the endpoint's API key")
    one.add_argument("--samples", type=int, help="episodes per problem, in place of the suite's")
    one.add_argument("--again", action="store_true", help="even if the same inputs have been evaluated")
    one.add_argument("--key", help="the same key gives the same evaluation for 24 hours")
    one.add_argument("--watch", action="store_true", help="print progress until it has ended")
    add_watching(one)
    add_json(one)
    one.set_defaults(do=evaluate)


def add_evaluations(nouns: Verbs[argparse.ArgumentParser]) -> None:
    verbs = add_noun(nouns, "evaluations", "list, show, watch, stop, resume and export evaluations on suites")

    listed = verbs.add_parser("list", help="list evaluations, newest first")
    listed.add_argument("--suite", help="only evaluations on this suite")
    listed.add_argument("--run", help="only those of this run's checkpoints")
    listed.add_argument("--state", help="only those in this state, such as running")
    add_limit(listed, "evaluations")
    add_json(listed)
    listed.set_defaults(do=list_evaluations)

    shown = of_number(verbs, "evaluation", "show", "show an evaluation with the result of each item")
    add_json(shown)
    shown.set_defaults(do=show)
    watched = of_number(verbs, "evaluation", "watch", "print progress until the evaluation has ended")
    add_watching(watched)
    watched.set_defaults(do=watch)
    for action, text in (("stop", "stop an evaluation"), ("resume", "play what is missing")):
        of_number(verbs, "evaluation", action, text).set_defaults(do=control, command=action)
    exported = of_number(verbs, "evaluation", "export", "download the outcome of every episode as a Parquet file")
    add_output(exported)
    exported.set_defaults(do=export)


def list_suites(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.suites()
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        rows = [(one.name, one.version, one.episodes, one.title) for one in found]
        table(("NAME", "VERSION", "EPISODES", "TITLE"), rows)
    return DONE


def show_suite(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = _suite(starboard, args.suite)
    if args.json:
        as_json(found.model_dump())
    elif args.toml:
        say(found.definition.rstrip())
    else:
        state = "frozen by an evaluation" if found.frozen else "not evaluated yet"
        say(f"{found.title} ({found.name} v{found.version}), {state}")
        if found.description:
            say(found.description)
        table(("ITEM", "ENVIRONMENT", "PROBLEMS", "SAMPLES"), [_item(one) for one in found.items])
        say(f"{starboard.url}/suites/{found.name}/")
    return DONE


def create_suite(args: argparse.Namespace) -> int:
    try:
        text = Path(args.definition).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StarboardError(f"{args.definition} cannot be read: {error}.") from None
    with Starboard() as starboard:
        made = starboard.define_suite(text, revises=args.revises)
    note(f"{made.name} v{made.version}, {made.episodes} episodes: {starboard.url}/suites/{made.name}/")
    say(made.name)
    return DONE


def evaluate(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        made = starboard.evaluate(
            args.suite, run=args.run or "", step=args.step, directory=args.directory or "",
            endpoint=args.endpoint or "", model=args.model, key_variable=args.key_variable, samples=args.samples,
            again=args.again, key=args.key,
        )  # fmt: skip
        if args.json and not args.watch:
            as_json(made.model_dump())
        else:
            note(f"Queued {made.planned} episodes: {starboard.url}/evaluations/{made.id}/")
            say(made.id)
        return _watch(starboard, made.id, args) if args.watch else DONE


def list_evaluations(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = list(starboard.evaluations(suite=args.suite, state=args.state, run=args.run, limit=args.limit))
    if args.json:
        as_json([one.model_dump() for one in found])
        return DONE
    rows = [(one.id, f"{one.suite} v{one.version}", _model(one), one.state, _rate(one)) for one in found]
    table(("ID", "SUITE", "MODEL", "STATE", "SUCCESS [95%]"), rows)
    return DONE


def show(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.evaluation(args.evaluation)
    if args.json:
        as_json(found.model_dump())
        return DONE
    say(f"{_model(found)} on {found.suite} v{found.version}")
    say(_progress(found))
    _say_items(found)
    say(f"{starboard.url}/evaluations/{found.id}/")
    return DONE


def watch(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        return _watch(starboard, args.evaluation, args)


def control(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        say(_progress(starboard.control_evaluation(args.evaluation, args.command)))
    return DONE


def export(args: argparse.Namespace) -> int:
    if args.output == "-" and sys.stdout.isatty():
        raise StarboardError("Parquet is no text for a terminal. Give a file: -o FILE.")
    with Starboard() as starboard, ExitStack() as stack:
        parts = starboard.outcomes(args.evaluation)
        first = next(parts, b"")  # before a file is made: there may be no outcomes yet
        file = sys.stdout.buffer if args.output == "-" else stack.enter_context(Path(args.output).open("wb"))
        count = sum(file.write(part) for part in (first, *parts))
    note(f"{count:,} bytes written.")
    return DONE


def _suite(starboard: Starboard, name: str) -> Suite:
    found = starboard.suites()
    for one in found:
        if one.name == name:
            return one
    raise StarboardError(f"There is no suite {name!r}. There are: {', '.join(one.name for one in found) or 'none'}.")


def _item(one: SuiteItem) -> tuple[object, ...]:
    return one.name, one.kind, one.problems, one.samples


def _watch(starboard: Starboard, evaluation_id: int, args: argparse.Namespace) -> int:
    """0 if it finished, 5 if it ended otherwise, 3 after `--timeout`."""
    for found in starboard.watch_evaluation(evaluation_id, every=args.every, timeout=args.timeout or None):
        note(_progress(found))
        if found.ended:
            _say_items(found)
            return DONE if found.state == "finished" else NOT_SUCCEEDED
    note(f"Not ended after {args.timeout:g} s. The evaluation goes on.")
    return TIMED_OUT


def _progress(found: SuiteEvaluation) -> str:
    parts = [f"{found.state}: {found.played} of {found.planned} episodes", _rate(found), found.message]
    return ", ".join(part for part in parts if part)


def _say_items(found: SuiteEvaluationDetail) -> None:
    rows = [(item.name, _rate(item), f"{item.played}/{item.planned}", number(item.mean_return)) for item in found.items]
    table(("ITEM", "SUCCESS [95%]", "EPISODES", "RETURN"), rows)


def _rate(one: SuiteEvaluation | SuiteResult) -> str:
    return "" if one.success is None else f"{number(one.success)} [{number(one.low)}, {number(one.high)}]"


def _model(one: SuiteEvaluation) -> str:
    return f"{one.run_name}, step {one.step}" if one.policy == "checkpoint" else one.model
