"""What the commands of all nouns share: their exit statuses, and the arguments that mean the same everywhere."""

from __future__ import annotations

import argparse

DONE, FAILED, TIMED_OUT, NOT_SUCCEEDED = 0, 1, 3, 5

Verbs = argparse._SubParsersAction  # of one noun


def add_noun(nouns: Verbs[argparse.ArgumentParser], name: str, text: str) -> Verbs[argparse.ArgumentParser]:
    found = nouns.add_parser(name, help=text)
    return found.add_subparsers(required=True, metavar="COMMAND")


def of_run(verbs: Verbs[argparse.ArgumentParser], name: str, text: str) -> argparse.ArgumentParser:
    """A command about one run, by its ID."""
    found = verbs.add_parser(name, help=text)
    found.add_argument("run", metavar="RUN", help="the ID of the run")
    return found


def of_number(verbs: Verbs[argparse.ArgumentParser], noun: str, name: str, text: str) -> argparse.ArgumentParser:
    """A command about one sweep or evaluation, by its number."""
    found = verbs.add_parser(name, help=text)
    found.add_argument(noun, type=int, metavar=noun.upper(), help=f"the number of the {noun}")
    return found


def add_json(one: argparse.ArgumentParser) -> None:
    one.add_argument("--json", action="store_true", help="print everything as JSON")


def add_limit(one: argparse.ArgumentParser, what: str) -> None:
    one.add_argument("--limit", type=int, default=50, help=f"the most {what} (default: 50)")


def add_output(one: argparse.ArgumentParser) -> None:
    one.add_argument("-o", "--output", default="-", help="a file; by default the terminal")


def add_watching(one: argparse.ArgumentParser, every: float = 2.0) -> None:
    one.add_argument("--timeout", type=float, default=0.0, help="give up after so many seconds, and exit with 3")
    one.add_argument("--every", type=float, default=every, help=argparse.SUPPRESS)
