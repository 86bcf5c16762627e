"""Lean: a theorem is proved tactic by tactic; each answer is checked by Lean itself."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
from pydantic import Field

from engine.environments import page_drawing as draw
from engine.environments.base import (
    UNKNOWN,
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Reduction,
    Solution,
    server_address,
    server_file,
    split_of,
    step_info,
)
from engine.environments.lean.local import local_lean
from engine.environments.lean.rules import Check, Standing, forbidden_in, script
from engine.environments.lean.server import lean_server
from engine.environments.lean.shipped import shipped_theorems
from engine.environments.lean.theorems import Theorem, theorems_of
from engine.environments.page_drawing import Blocks, shortened
from engine.environments.spaces import AnyText

HELD_OUT_EVERY = 5  # theorems of a file whose rows name no split
WIDTH, PROOF_LINES, LAST_TACTICS = 88, 40, 5
MESSAGE_CHARACTERS, LINE_CHARACTERS = 2000, 500
RANDOM_TACTICS = ("simp", "rfl", "omega", "intro h", "constructor", "assumption", "trivial", "exact h")


class LeanParameters(EnvironmentParameters):
    path: str = server_file("A .jsonl, .json or .parquet file with miniF2F's columns; empty: the bundled theorems.")
    checker: Literal["server", "local"] = Field(
        "server",
        description="A Lean server over HTTP, or the toolchain of this machine by lean-interact.",
        json_schema_extra={"restricted": "The local toolchain checks proofs without a sandbox."},
    )
    server: str = server_address(
        "Address of a kimina-lean-server; empty: the value of LEAN_SERVER_API_URL, or port 8000."
    )
    project: str = server_file("Folder of a local Lean project, such as one with Mathlib; empty: Lean alone.")
    check_seconds: int = Field(30, ge=1, le=600, description="Time limit of one check, in seconds.")
    wait_seconds: float = Field(
        120.0,
        gt=0,
        le=800,
        description="Time limit of a response from the server, over all attempts; then the run stops.",
    )
    step_reward: float = Field(-0.1, description="Reward of every step.")
    accepted_reward: float = Field(1.0, description="Added for a tactic that Lean accepts and that changes the goals.")
    rejected_reward: float = Field(-1.0, description="Added for a tactic that Lean rejects, or that is not allowed.")
    proved_reward: float = Field(10.0, description="Added for the complete proof.")
    timeout_reward: float = Field(
        -1.0, description="Added for a check that exceeds its time limit, which is not a rejection."
    )
    max_steps: int = Field(100, ge=1, le=10_000, description="Steps after which the episode ends.")
    unsolved_reward: float = Field(-2.0, description="Added when the episode ends without a proof.")


@dataclass(frozen=True, slots=True)
class Attempt:
    tactic: str
    standing: str


class Checker(Protocol):
    def check(self, text: str, theorem: Theorem) -> Check: ...


class Lean(Environment):
    """Theorem proving in Lean 4.

    Description: each problem is a theorem. The proof grows by what Lean accepts; the statement stays ours. A Lean
    server, or a local toolchain, checks the statement with the accepted tactics and the new one.

    Actions: free text: one tactic, or several on lines of their own, which are accepted or rejected together. Nothing
    separates actions within an answer, as `||` is an operator of Lean. Commands, `sorry`, axioms, macros, block
    comments and what runs code while it is checked are not allowed, and are rejected without a check.

    Observations: the step, the statement in words where there is one, the statement in Lean, the accepted tactics with
    numbers, the last five attempts, and Lean's messages as they are: the open goals, or the error.

    Starting state: the theorem that the seed picks from its split. We ship 64 theorems that need no library, of which
    every fifth is held out. Of a file, the rows whose `split` is test are held out; where none is, every fifth.

    Rewards: -0.1 for each step; +1 if the tactic is accepted and the goals change, -1 if it is rejected, +10 for the
    proof, -1 for a check that exceeds its time, -2 at the last step without a proof. A theorem proved by two tactics
    has a return of 0.9 + 10.9 = 11.8.

    Episode end: when the theorem is proved, which needs no error, no `sorry`, and no axioms but propext, Quot.sound
    and Classical.choice; or after `max_steps`.

    Arguments: the file of theorems, the checker and its address, the time limits, the rewards and the steps.

    Differences from RAGEN: a server that cannot be reached stops the run instead of being scored as a wrong tactic; a
    check that exceeds its time is counted separately; axioms are checked; a tactic that leaves the goals as they are,
    such as `skip`, earns nothing; an answer is one action.
    """

    kind: ClassVar[str] = "lean"
    title: ClassVar[str] = "Lean"
    summary: ClassVar[str] = "Prove a theorem in Lean 4, tactic by tactic, checked by a Lean server."
    Config = LeanParameters
    default_instruction: ClassVar[str] = "Prove the theorem in Lean 4. Each turn, give the next tactic."
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 15,
        "max_actions_per_turn": 1,
        "max_actions": 15,
        "max_response_tokens": 512,
    }
    default_limits: ClassVar[Mapping[str, float]] = {"step_seconds": 900}  # `wait_seconds` is its own limit
    separator: ClassVar[str | None] = None
    answer_form: ClassVar[str] = "tactic"
    needs: ClassVar[str] = "a Lean server"
    split_by: Literal["hash", "own", "none"] = "own"
    info_metrics: ClassVar[Mapping[str, Reduction]] = {
        "accepted": "sum",
        "rejected": "sum",
        "forbidden": "sum",
        "timeouts": "sum",
        "failed_checks": "sum",
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {"Lean": {}}
    config: LeanParameters

    def __init__(self, config: LeanParameters) -> None:
        super().__init__(config)
        self.checker: Checker = (
            lean_server(config.server, config.check_seconds, config.wait_seconds)
            if config.checker == "server"
            else local_lean(config.project, config.check_seconds)
        )
        self.action_space = AnyText(max_length=100_000)
        self.observation_space = AnyText(min_length=1)
        self.theorem: Theorem | None = None
        self.over = True
        self._start()

    def _start(self) -> None:
        self.proof: list[str] = []
        self.attempts: list[Attempt] = []
        self.goals = self.messages = ""
        self.steps = 0
        self.proved = False

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """Needs no checker: the first check is that of the first tactic."""
        seed = self.seeded(seed)
        found = self._theorems(held_out=split_of(options) == "held_out")
        self.theorem = found[int(np.random.default_rng([seed, 1]).integers(len(found)))]
        self._start()
        self.over = False
        return self.render(), {}

    def _theorems(self, *, held_out: bool) -> list[Theorem]:
        found = theorems_of(self.config.path) if self.config.path else shipped_theorems()
        if len(found) == 1:
            return list(found)
        if not 0 < sum(one.held_out for one in found) < len(found):
            return [one for index, one in enumerate(found) if (index % HELD_OUT_EVERY == 0) == held_out]
        return [one for one in found if one.held_out == held_out]

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        tactic = self.checked_text(action, over=self.over).strip()
        forbidden = forbidden_in(tactic)
        if not tactic:
            check = Check(Standing.REJECTED, "The answer had no tactic.")
        elif forbidden:
            check = Check(Standing.REJECTED, f"A proof may not contain {forbidden!r}.")
        else:
            check = self.checker.check(script(self._proving, [*self.proof, tactic]), self._proving)
        self.steps += 1
        effective = self._take(tactic, check)
        self.over = self.proved or self.steps >= self.config.max_steps
        reward = self._reward(check.standing, effective=effective)
        info = step_info(
            valid=bool(tactic) and not forbidden,
            effective=effective,
            success=self.proved,
            accepted=float(check.standing in (Standing.OPEN, Standing.PROVED)),
            rejected=float(check.standing is Standing.REJECTED),
            forbidden=float(bool(forbidden)),
            timeouts=float(check.standing is Standing.TIMED_OUT),
            failed_checks=float(check.standing is Standing.FAILED),
        )
        return self.render(), reward, self.proved, self.over and not self.proved, info

    def _take(self, tactic: str, check: Check) -> bool:
        """Adds an accepted tactic to the proof; whether anything changed."""
        self.messages = check.messages
        changed = check.standing is Standing.PROVED or (
            check.standing is Standing.OPEN and check.messages != self.goals
        )
        if changed:
            self.proof.append(tactic)
            self.goals = check.messages
        self.proved = check.standing is Standing.PROVED
        standing = "accepted" if changed else "no change" if check.standing is Standing.OPEN else check.standing.value
        self.attempts.append(Attempt(tactic, standing.replace("_", " ")))
        return changed

    def _reward(self, standing: Standing, *, effective: bool) -> float:
        config = self.config
        by_standing = {
            Standing.PROVED: config.accepted_reward + config.proved_reward,
            Standing.OPEN: config.accepted_reward if effective else 0.0,
            Standing.REJECTED: config.rejected_reward,
            Standing.TIMED_OUT: config.timeout_reward,
            Standing.FAILED: config.timeout_reward,
        }
        at_end = config.unsolved_reward if self.over and not self.proved else 0.0
        return float(config.step_reward + by_standing[standing] + at_end)

    @property
    def _proving(self) -> Theorem:
        if self.theorem is None:
            raise RuntimeError("There is no theorem yet; call reset first.")
        return self.theorem

    def action_names(self) -> None:
        return None

    def describe(self) -> str:
        return (
            "An answer is one tactic of Lean 4, or several on lines of their own. Lean accepts or rejects it and shows "
            "the goals that are left. The statement cannot be changed; sorry, axioms and commands are not allowed."
        )

    def render(self) -> str:
        theorem = self._proving
        parts = [f"Step {self.steps} of {self.config.max_steps}"]
        if theorem.informal:
            parts.append("\n".join(textwrap.wrap(theorem.informal, WIDTH)))
        parts.append(f"Theorem:\n{theorem.statement}")
        if self.proof:
            parts.append("Proof so far:\n" + "\n".join(self._numbered_proof()))
        if self.attempts:
            shown = [f"- {one.tactic[:MESSAGE_CHARACTERS]} ({one.standing})" for one in self.attempts[-LAST_TACTICS:]]
            parts.append("Last tactics:\n" + "\n".join(shown))
            parts.append("The theorem is proved." if self.proved else f"Lean:\n{self._shown_messages()}")
        return "\n\n".join(parts)

    def _numbered_proof(self) -> list[str]:
        lines = [line for tactic in self.proof for line in tactic.split("\n")]
        return [f"{number:>3}  {line[:LINE_CHARACTERS]}" for number, line in enumerate(lines, start=1)][-PROOF_LINES:]

    def _shown_messages(self) -> str:
        return shortened(self.messages, MESSAGE_CHARACTERS) or "no messages"

    def drawing(self) -> Drawing:
        theorem = self._proving
        return draw.page(
            theorem.name,
            draw.text(theorem.informal),
            draw.code("\n".join([theorem.statement, *self._numbered_proof()])),
            *(self._drawn_attempt(last) for last in self.attempts[-1:]),
        )

    def _drawn_attempt(self, attempt: Attempt) -> Blocks:
        outcome = "The theorem is proved." if self.proved else self._shown_messages()
        tactic = draw.code(attempt.tactic[:MESSAGE_CHARACTERS])
        return draw.section(f"Last tactic: {attempt.standing}", tactic, draw.text(outcome))

    def problem(self) -> str:
        return f"{self._proving.header}\n{self._proving.statement}"

    def solution(self) -> Solution:
        """The rest of the known proof, as long as the accepted tactics are its beginning."""
        known = list(self._proving.proof)
        if self.proved:
            return []
        follows = bool(known) and known[: len(self.proof)] == self.proof and not self.over
        return known[len(self.proof) :] if follows else UNKNOWN

    def random_action(self, rng: np.random.Generator) -> str:
        return RANDOM_TACTICS[int(rng.integers(len(RANDOM_TACTICS)))]
