"""`starboard evaluations …`: its arguments, and what each command does."""

from __future__ import annotations

import argparse

from starboard_client.client import Starboard
from starboard_client.output import as_json, note, number, say, table
from starboard_client.suite_models import SuiteEvaluation, SuiteEvaluationDetail, SuiteResult

DONE, TIMED_OUT, NOT_SUCCEEDED = 0, 3, 5

Verbs = argparse._SubParsersAction


def add_evaluations(nouns: Verbs[argparse.ArgumentParser]) -> None:
    evaluations = nouns.add_parser("evaluations", help="evaluate models on suites, and list, watch and stop that")
    verbs = evaluations.add_subparsers(required=True, metavar="COMMAND")

    suites = verbs.add_parser("suites", help="list the suites")
    _add_json(suites)
    suites.set_defaults(do=list_suites)

    listed = verbs.add_parser("list", help="list evaluations, newest first")
    listed.add_argument("--suite", help="only evaluations on this suite")
    listed.add_argument("--state", help="only those in this state, such as running")
    listed.add_argument("--limit", type=int, default=50, help="the most evaluations (default: 50)")
    _add_json(listed)
    listed.set_defaults(do=list_evaluations)

    created = verbs.add_parser("create", help="evaluate a checkpoint or a model directory of the site on a suite")
    created.add_argument("suite", help="the name of the suite")
    source = created.add_mutually_exclusive_group(required=True)
    source.add_argument("--run", help="the ID of a run; with --step")
    source.add_argument("--directory", help="a model that ships, such as tiny, or a directory of the site")
    created.add_argument("--step", type=int, default=0, help="the step of the run's checkpoint")
    created.add_argument("--samples", type=int, help="episodes per problem, in place of the suite's")
    created.add_argument("--again", action="store_true", help="even if the same inputs have been evaluated")
    created.add_argument("--key", help="the same key gives the same evaluation for 24 hours")
    created.add_argument("--watch", action="store_true", help="print progress until it has ended")
    _add_watching(created)
    created.set_defaults(do=create)

    shown = _of_evaluation(verbs, "show", "show an evaluation with the result of each item")
    _add_json(shown)
    shown.set_defaults(do=show)
    watched = _of_evaluation(verbs, "watch", "print progress until the evaluation has ended")
    _add_watching(watched)
    watched.set_defaults(do=watch)
    for action, text in (("stop", "stop an evaluation"), ("resume", "play what is missing")):
        _of_evaluation(verbs, action, text).set_defaults(do=control, command=action)


def list_suites(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = starboard.suites()
    if args.json:
        as_json([one.model_dump() for one in found])
    else:
        rows = [(one.name, one.version, one.episodes, one.title) for one in found]
        table(("NAME", "VERSION", "EPISODES", "TITLE"), rows)
    return DONE


def list_evaluations(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        found = list(starboard.evaluations(suite=args.suite, state=args.state, limit=args.limit))
    if args.json:
        as_json([one.model_dump() for one in found])
        return DONE
    rows = [(one.id, f"{one.suite} v{one.version}", _model(one), one.state, _rate(one)) for one in found]
    table(("ID", "SUITE", "MODEL", "STATE", "SUCCESS [95%]"), rows)
    return DONE


def create(args: argparse.Namespace) -> int:
    with Starboard() as starboard:
        made = starboard.evaluate(
            args.suite, run=args.run or "", step=args.step, directory=args.directory or "", samples=args.samples,
            again=args.again, key=args.key,
        )  # fmt: skip
        note(f"Queued {made.planned} episodes: {starboard.url}/evaluations/{made.id}/")
        say(made.id)
        return _watch(starboard, made.id, args) if args.watch else DONE


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


def _of_evaluation(verbs: Verbs[argparse.ArgumentParser], name: str, text: str) -> argparse.ArgumentParser:
    found = verbs.add_parser(name, help=text)
    found.add_argument("evaluation", type=int, metavar="EVALUATION", help="the number of the evaluation")
    return found


def _add_json(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print everything as JSON")


def _add_watching(one: argparse.ArgumentParser) -> None:
    one.add_argument("--timeout", type=float, default=0.0, help="give up after so many seconds, and exit with 3")
    one.add_argument("--every", type=float, default=2.0, help=argparse.SUPPRESS)
