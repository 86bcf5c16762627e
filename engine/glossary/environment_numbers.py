"""Numbers that the environments declare in `info_metrics`. A name says the same in each of them; those of classes of
users have the general entry of `outcomes`."""

from __future__ import annotations

from typing import Literal

from engine.glossary.types import Metric

Better = Literal["higher", "lower"]


def _number(
    name: str,
    title: str,
    meaning: str,
    *,
    bad: str,
    unit: str = "",
    low: float | None = 0,
    high: float | None = None,
    better: Better | None = None,
) -> Metric:
    return Metric(
        name=f"env/<tag>/{name}", section="env", title=f"<tag>: {title}", meaning=meaning,
        formula="mean over the trajectories that have it", bad=bad, unit=unit, low=low, high=high, better=better,
    )  # fmt: skip


def _share(name: str, title: str, meaning: str, *, bad: str, better: Better = "higher") -> Metric:
    return _number(name, title, meaning, bad=bad, unit="share", high=1, better=better)


def _tests(name: str, title: str, meaning: str) -> Metric:
    bad = "Rising: read the programs of some trajectories."
    return _number(name, title, meaning, bad=bad, unit="tests", better="lower")


GAMES = (
    _number(
        "score", "score", "2048's score at the end: the sum of all tiles that were made by merging.",
        bad="Falling: play gets worse, whatever the return says.", better="higher",
    ),
    _number(
        "max_tile", "largest tile", "2048's largest tile at the end.",
        bad="Far below the target tile: success is out of reach.", better="higher",
    ),
    _number(
        "distance", "turns from solved", "The cube's distance at the end: the fewest quarter turns that solve it.",
        unit="turns", bad="Not below the depth of the scramble: turns bring the cube no nearer.", better="lower",
    ),
    _share(
        "filled_share", "cells filled correctly", "Sudoku's empty cells that have the solution's number at the end.",
        bad="Falling: numbers are placed at random.",
    ),
    _number(
        "observed", "objects observed", "Objects that were seen before the episode ended.", unit="objects",
        bad="Falling with success: the policy answers without exploring.", better="higher",
    ),
    _share(
        "chance", "success of guessing", "One divided by the number of options of the question.",
        bad="At the training success: the policy guesses.",
    ),
)  # fmt: skip
QUESTIONS = (
    _number(
        "tries", "tries", "Answers given, the last one included.", unit="tries",
        bad="Rising: more questions are solved by trying answers.", better="lower",
    ),
    _number(
        "searches", "searches", "Searches made.", unit="searches",
        bad="0: questions are answered from memory. At the limit: episodes end without an answer.",
    ),
    _share(
        "em", "exact match", "1 where the normalised answer is one of the accepted answers, else 0.",
        bad="Falling while the F1 score does not: answers contain too many words.",
    ),
    _share(
        "f1", "F1 score", "Overlap of the words of the answer with those of the closest accepted answer.",
        bad="Falling: answers become wrong or long.",
    ),
)  # fmt: skip
SHOP = (
    _share(
        "raw_reward", "score of the purchase", "WebShop's score of what was bought, 0 without a purchase, before the "
        "reward setting turns it into a reward.", bad="Falling: purchases fit the instruction less.",
    ),
    _share(
        "purchased", "purchases", "1 where something was bought, else 0.",
        bad="Below 1: episodes end before a purchase, which earns nothing.",
    ),
    _share(
        "found", "product found", "1 where the page of the goal's own product was opened, else 0.",
        bad="Low: searches miss the product, so only a similar one can be bought.",
    ),
    _share(
        "type_score", "type score", "How well the type of the bought product fits: a factor of the score.",
        bad="Falling: the wrong kind of product is bought.",
    ),
    _share(
        "attribute_score", "attribute score", "Share of the wanted attributes that the bought product has.",
        bad="Falling: the instruction's properties are ignored.",
    ),
    _share(
        "option_score", "option score", "Share of the wanted options, such as a size, that were chosen.",
        bad="Near 0: products are bought without their options.",
    ),
    _share(
        "price_score", "price score", "1 where the bought product costs no more than the instruction allows, else 0.",
        bad="Falling: prices are ignored.",
    ),
)  # fmt: skip
PROOFS = (
    _number(
        "accepted", "accepted tactics", "Tactics that Lean accepted.", unit="tactics",
        bad="Near 0: proofs make no progress.", better="higher",
    ),
    _number(
        "rejected", "rejected tactics", "Tactics that Lean rejected.", unit="tactics",
        bad="Rising: tactics do not fit the goals.", better="lower",
    ),
    _number(
        "forbidden", "forbidden tactics", "Tactics that contain something not allowed, such as sorry; they are not "
        "sent to Lean.",
        unit="tactics", bad="Rising: the policy looks for a way around the proof.", better="lower",
    ),
    _number(
        "failed_checks", "failed checks", "Checks that ended without a result from Lean.", unit="checks",
        bad="Above 0: look at the Lean server.", better="lower",
    ),
)  # fmt: skip
PROGRAMS = (
    _share("passed_share", "tests passed", "Share of tests that the best program passed.", bad="Falling."),
    _tests("wrong_answers", "wrong outputs", "Tests in which the last program had the wrong output."),
    _tests("not_python", "syntax errors", "Tests in which the last program was not valid Python."),
    _tests("raised", "exceptions", "Tests in which the last program raised an exception."),
    _number(
        "timeouts",
        "timeouts",
        "DeepCoder: tests of the last program that took too long. Lean: checks that did.",
        bad="Rising: programs or tactics do not end, and steps take longer.",
        better="lower",
    ),
    _tests("out_of_memory", "out of memory", "Tests in which the last program exceeded its memory."),
    _tests("output_overflows", "output too long", "Tests in which the last program printed more than is read."),
    _tests("killed", "killed", "Tests in which the last program's process was killed."),
    _tests("tests_not_run", "tests not run", "Tests that were not run because the time for all tests was used up."),
)

ENTRIES = (*GAMES, *QUESTIONS, *SHOP, *PROOFS, *PROGRAMS)
