"""What a proof may contain, and what a check of it means.

The statement is ours; only what follows it is the model's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engine.environments.lean.theorems import Theorem

# Commands would end the proof and begin something else, whatever the indentation; the rest closes goals without a
# proof, runs code while it is checked, or changes what the statement or a message means.
FORBIDDEN = re.compile(
    r"""
    (?<![\w'])(?:
        theorem | lemma | def | abbrev | axioms? | constant | opaque | example | instance | inductive
        | structure | class | mutual | namespace | section | end | variable | universe | open | export | import
        | attribute | set_option | local | scoped | private | protected | noncomputable | unsafe | partial
        | deriving | (?:builtin_)?initialize | macro(?:_rules)? | notation | infix[lr]? | prefix | postfix
        | syntax | declare_syntax_cat | elab(?:_rules)? | d?simproc | sorry | sorryAx | admit | stop
        | native_decide | bv_decide | implemented_by | extern | csimp | unseal | run_(?:tac|cmd|elab|meta)
        | by_elab | eval | include_str | trace(?:_state)? | dbg_trace | logInfo | throwError | ofReduceBool
        | ofReduceNat | trustCompiler | unsafeCast
    )(?![\w'?])
    | \# | /- | -/ | %\[ | \b(?:Lean|IO)\. | « | `\( | @\[ | \x00
    """,
    re.VERBOSE,
)
ALLOWED_AXIOMS = {"propext", "Quot.sound", "Classical.choice"}
AXIOMS = re.compile(r"depends on axioms:\s*\[([^\]]*)\]")
NO_AXIOMS = "does not depend on any axioms"
SORRY = re.compile(r"declaration uses .?sorry|sorryAx")
UNSOLVED = "unsolved goals"
MOST_CHARACTERS = 10_000


class Standing(StrEnum):
    """What a check says of a script. `timed_out` and `failed` say nothing about whether it is right."""

    PROVED = "proved"
    OPEN = "open"  # right so far; goals are left
    REJECTED = "rejected"
    TIMED_OUT = "timed_out"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Check:
    standing: Standing
    messages: str = ""  # those of Lean, as they are


def forbidden_in(tactic: str) -> str:
    """The first thing in `tactic` that a proof may not contain; empty if there is none."""
    if len(tactic) > MOST_CHARACTERS:
        return f"more than {MOST_CHARACTERS} characters"
    found = FORBIDDEN.search(tactic)
    return found.group() if found else ""


def script(theorem: Theorem, tactics: list[str]) -> str:
    """The text to check. Each tactic is indented, and the axioms of the theorem are printed at the end."""
    body = "\n".join(f"  {line}" for tactic in tactics for line in tactic.split("\n"))
    header = f"{theorem.header}\n\n" if theorem.header else ""
    return f"{header}{theorem.statement}\n{body}\n\n#print axioms {theorem.name}"


def judged(response: dict[str, Any], theorem: Theorem) -> Check:
    """What the REPL's response to `script` means."""
    if response.get("message"):  # the REPL itself refused
        return Check(Standing.REJECTED, str(response["message"]))
    messages = [one for one in response.get("messages") or [] if isinstance(one, dict)]
    errors = [str(one.get("data", "")) for one in messages if one.get("severity") == "error"]
    warnings = [str(one.get("data", "")) for one in messages if one.get("severity") == "warning"]
    shown = "\n".join([*errors, *warnings])
    if response.get("sorries") or any(SORRY.search(text) for text in warnings):
        return Check(Standing.REJECTED, shown or "The proof uses sorry.")
    if errors:
        still_open = all(text.startswith(UNSOLVED) for text in errors)
        return Check(Standing.OPEN if still_open else Standing.REJECTED, shown)
    infos = [str(one.get("data", "")) for one in messages if one.get("severity") == "info"]
    problem = _axioms_problem(infos, theorem.name)
    return Check(Standing.REJECTED, problem) if problem else Check(Standing.PROVED, shown)


def _axioms_problem(infos: list[str], name: str) -> str:
    """Why the axioms that were printed are no proof; empty if they are. Ours is the last message."""
    last = next((text for text in reversed(infos) if text.startswith(f"'{name}' ")), "")
    if NO_AXIOMS in last:
        return ""
    found = AXIOMS.search(last)
    if not found:
        return "The axioms of the proof were not printed, so it is not accepted."
    extra = {axiom.strip() for axiom in found.group(1).split(",")} - ALLOWED_AXIOMS
    return f"The proof depends on {', '.join(sorted(extra))}." if extra else ""
