"""Lean, against a test server: no Lean toolchain is needed, and no proof is really checked."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.config import EnvironmentConfig
from engine.environments import make_environment
from engine.environments.lean import Lean
from engine.environments.lean.rules import Standing, forbidden_in, judged, script
from engine.environments.lean.shipped import shipped_theorems
from engine.environments.lean.theorems import DEFAULT_HEADER, theorem_of
from engine.environments.players import baseline
from engine.errors import ConfigError, EnvironmentUnavailable
from tests.engine.environments.lean_test_server import Behaviour, lean_test_server, message

TWO_STEPS = {"statement": "theorem given_imp_refl (p : Prop) : p → p := by", "proof": ["intro h", "exact h"]}
THEOREM = shipped_theorems()[2]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Behaviour]:
    with lean_test_server() as (address, behaviour):
        monkeypatch.setenv("LEAN_SERVER_API_URL", address)
        monkeypatch.delenv("LEAN_SERVER_API_KEY", raising=False)
        yield behaviour


@pytest.fixture
def one_theorem(tmp_path: Path) -> str:
    path = tmp_path / "theorems.jsonl"
    path.write_text(json.dumps({"formal_statement": f"{TWO_STEPS['statement']}\n  sorry", "nl_statement": "It holds."}))
    return str(path)


def started(**parameters: Any) -> Lean:
    environment = make_environment("lean", **parameters)
    assert isinstance(environment, Lean)
    environment.reset(seed=1)
    return environment


def response(*messages: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"response": {"messages": list(messages), **rest}}


def test_a_proof_is_made_tactic_by_tactic(server: Behaviour, one_theorem: str) -> None:
    environment = started(path=one_theorem)
    observation, first, terminated, _, info = environment.step("intro h")
    # -0.1 for the step and 1 for the accepted tactic; then 10 more for the proof
    assert (first, terminated, info["success"], info["accepted"]) == (0.9, False, False, 1.0)
    assert "unsolved goals\n⊢ 1 of 2 are left" in observation
    observation, second, terminated, truncated, info = environment.step("exact h")
    assert (second, terminated, truncated, info["success"]) == (10.9, True, False, True)
    assert observation.endswith("The theorem is proved.")
    assert "  1  intro h\n  2  exact h" in observation


def test_several_lines_are_one_action(server: Behaviour, one_theorem: str) -> None:
    assert started(path=one_theorem).step("intro h\nexact h")[4]["success"]


def test_a_rejected_tactic_costs_and_is_not_added(server: Behaviour, one_theorem: str) -> None:
    environment = started(path=one_theorem)
    observation, reward, _, _, info = environment.step("omega")
    assert (reward, info["action_is_valid"], info["action_is_effective"], info["rejected"]) == (-1.1, True, False, 1.0)
    assert environment.proof == []
    assert "- omega (rejected)" in observation
    assert "unknown tactic or failed goal" in observation


def test_an_empty_answer_and_a_forbidden_one_are_rejected_without_a_check(server: Behaviour, one_theorem: str) -> None:
    environment = started(path=one_theorem)
    for text in ("", " \n", "sorry", "exact h\n\ntheorem other : True := trivial"):
        _, reward, _, _, info = environment.step(text)
        assert (reward, info["action_is_valid"]) == (-1.1, False)
    assert server.requests == []


def test_a_tactic_that_leaves_the_goals_as_they_are_earns_nothing(server: Behaviour, one_theorem: str) -> None:
    environment = started(path=one_theorem)
    server.result = response(message("error", "unsolved goals\n⊢ p → p"))
    assert [environment.step("skip")[1] for _ in range(2)] == [0.9, -0.1]
    assert environment.proof == ["skip"]


def test_the_last_step_without_a_proof_costs_two_more(server: Behaviour, one_theorem: str) -> None:
    environment = started(path=one_theorem, max_steps=2)
    environment.step("intro h")
    _, reward, terminated, truncated, _ = environment.step("omega")
    assert reward == pytest.approx(-0.1 - 1 - 2)
    assert (terminated, truncated) == (False, True)


@pytest.mark.parametrize(
    ("error", "metric"),
    [
        ("Lean REPL command timed out in 30 seconds", "timeouts"),
        ("Lean REPL header command timed out in 30 seconds", "timeouts"),
        ("Lean REPL process was killed", "failed_checks"),
    ],
)
def test_a_check_that_does_not_end_is_not_counted_as_a_wrong_tactic(
    server: Behaviour, one_theorem: str, error: str, metric: str
) -> None:
    environment = started(path=one_theorem)
    server.result = {"error": error}
    _, reward, _, _, info = environment.step("intro h")
    assert (reward, info["rejected"], info[metric]) == (-1.1, 0.0, 1.0)
    assert environment.proof == []


def test_what_is_sent_follows_the_published_schema(server: Behaviour, one_theorem: str) -> None:
    started(path=one_theorem, check_seconds=7).step("intro h")
    (path, payload, authorization) = server.requests[0]
    (snippet,) = payload.pop("snippets")
    assert (path, payload, authorization) == ("/api/check", {"timeout": 7, "debug": False, "reuse": True}, "")
    end = "theorem given_imp_refl (p : Prop) : p → p := by\n  intro h\n\n#print axioms given_imp_refl"
    assert set(snippet) == {"id", "code"}
    assert snippet["code"] == f"{DEFAULT_HEADER}\n\n{end}"


def test_older_servers_are_used_by_their_own_path(server: Behaviour, one_theorem: str) -> None:
    server.only_old_path = True
    environment = started(path=one_theorem)
    environment.step("intro h")
    assert environment.step("exact h")[4]["success"]
    assert [path for path, _, _ in server.requests] == ["/api/check", "/verify", "/verify"]
    assert set(server.requests[1][1]) == {"codes", "timeout", "disable_cache"}
    assert set(server.requests[1][1]["codes"][0]) == {"custom_id", "proof"}


def test_a_busy_server_is_asked_again(server: Behaviour, one_theorem: str) -> None:
    server.statuses = [429, 503]
    assert started(path=one_theorem).step("intro h")[1] == 0.9
    assert len(server.requests) == 3


def test_a_server_that_stays_busy_stops_the_run(server: Behaviour, one_theorem: str) -> None:
    server.statuses = [500] * 99
    with pytest.raises(EnvironmentUnavailable, match=r"status 500: No available REPLs \(for 0.4 s\)"):
        started(path=one_theorem, wait_seconds=0.4).step("intro h")


def test_an_unreachable_server_stops_the_run_and_scores_nothing(one_theorem: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    environment = started(path=one_theorem, server=address)
    with pytest.raises(EnvironmentUnavailable, match=f"{address} cannot be used.*LEAN_SERVER_API_URL"):
        environment.step("intro h")
    assert (environment.steps, environment.attempts) == (0, [])


def test_a_server_that_was_reached_before_is_awaited(one_theorem: str) -> None:
    with lean_test_server() as (address, _):
        environment = started(path=one_theorem, server=address, wait_seconds=2)
        environment.step("intro h")
    began = time.monotonic()
    with pytest.raises(EnvironmentUnavailable, match=r"for 2 s"):
        environment.step("exact h")
    assert time.monotonic() - began > 1


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'{"results": []}', b'{"results": [{"id": "other"}]}', b"[" * 9999])
def test_a_server_of_something_else_stops_the_run(server: Behaviour, one_theorem: str, body: bytes) -> None:
    server.body = body
    with pytest.raises(EnvironmentUnavailable, match="no result of the check"):
        started(path=one_theorem).step("intro h")


def test_a_result_without_an_error_or_a_response_stops_the_run(server: Behaviour, one_theorem: str) -> None:
    server.result = {"error": None, "response": None}
    with pytest.raises(EnvironmentUnavailable, match="neither an error nor a response"):
        started(path=one_theorem).step("intro h")


def test_the_key_is_that_of_the_environment(
    server: Behaviour, one_theorem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = "secret"
    with pytest.raises(EnvironmentUnavailable, match="rejects the key") as refused:
        started(path=one_theorem).step("intro h")
    assert "secret" not in str(refused.value)
    monkeypatch.setenv("LEAN_SERVER_API_KEY", "secret")
    assert started(path=one_theorem).step("intro h")[1] == 0.9
    assert server.requests[-1][2] == "Bearer secret"


def test_the_key_is_not_sent_to_an_address_that_a_user_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAN_SERVER_API_KEY", "secret")
    monkeypatch.setenv("LEAN_SERVER_API_URL", "https://lean.example.com/")
    for server, key in (("", "secret"), ("https://lean.example.com", "secret"), ("https://other.example.com", "")):
        checker: Any = make_environment("lean", server=server).checker  # type: ignore[attr-defined]
        assert checker._key == key


@pytest.mark.parametrize("address", ["lean", "ftp://x", "http://user:word@host", "http://host?x=1"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match="not a plain http"):
        make_environment("lean", server=address)


@pytest.mark.parametrize(
    ("messages", "rest", "standing"),
    [
        ([message("info", f"'{THEOREM.name}' does not depend on any axioms")], {}, Standing.PROVED),
        ([message("info", f"'{THEOREM.name}' depends on axioms: [propext,\n Quot.sound]")], {}, Standing.PROVED),
        ([message("info", f"'{THEOREM.name}' depends on axioms: [Lean.ofReduceBool]")], {}, Standing.REJECTED),
        ([message("info", f"'{THEOREM.name}' depends on axioms: [propext, cheat]")], {}, Standing.REJECTED),
        ([message("info", "'other' does not depend on any axioms")], {}, Standing.REJECTED),
        ([], {}, Standing.REJECTED),
        ([message("warning", "declaration uses 'sorry'")], {}, Standing.REJECTED),
        ([message("warning", "declaration uses `sorry`")], {}, Standing.REJECTED),
        ([message("info", "Try this: simp")], {"sorries": [{"goal": "⊢ p"}]}, Standing.REJECTED),
        ([message("error", "unsolved goals\n⊢ p")], {}, Standing.OPEN),
        ([message("error", "unsolved goals\n⊢ p"), message("error", "unknown identifier 'x'")], {}, Standing.REJECTED),
        ([], {"message": "Unknown environment."}, Standing.REJECTED),
    ],
)
def test_a_check_means_what_its_messages_say(messages: list[Any], rest: dict[str, Any], standing: Standing) -> None:
    assert judged({"messages": messages, **rest}, THEOREM).standing is standing


def test_of_printed_axioms_the_last_ones_count() -> None:
    forged = message("info", f"'{THEOREM.name}' does not depend on any axioms")
    ours = message("info", f"'{THEOREM.name}' depends on axioms: [sorryAx]")
    assert judged({"messages": [forged, ours]}, THEOREM).standing is Standing.REJECTED


@pytest.mark.parametrize(
    "tactic",
    [
        "sorry",
        "exact sorryAx _",
        "exact (by sorry)",
        "admit",
        "exact Lean.ofReduceBool _ _ rfl",
        "native_decide",
        "skip\naxiom cheat : False",
        "skip\n#print axioms x",
        "skip\n/- the rest",
        "skip\nend X",
        "open Classical in simp",
        "set_option maxRecDepth 9 in rfl",
        'run_tac Lean.logInfo "x"',
        "macro_rules | `(tactic| rfl) => `(tactic| sorry)",
        "exact unsafeCast ()",
        "stop",
        'simp\nlocal notation "x" => y',
        "«sorry»",
        "x" * 10_001,
    ],
)
def test_tricks_are_forbidden(tactic: str) -> None:
    assert forbidden_in(tactic)


@pytest.mark.parametrize(
    "tactic",
    [
        "exact h.end_point",
        "simp [List.prefix_append]",
        "rw [Nat.add_comm] -- swap",
        "cases a <;> cases b <;> simp [Bool.or_comm]",
        "have h : (a || b) = true := by simp",
        "calc a = b := h\n  _ = c := k",
        "exact Classical.byContradiction fun n => h n",
        "simp?",
        "intro example_1",
        "obtain ⟨x, hx⟩ := h",
    ],
)
def test_ordinary_tactics_are_not(tactic: str) -> None:
    assert forbidden_in(tactic) == ""


def test_no_shipped_proof_is_forbidden_and_names_are_distinct() -> None:
    theorems = shipped_theorems()
    assert len(theorems) == len({one.name for one in theorems}) == len({one.statement for one in theorems}) == 64
    assert all(one.proof and not any(map(forbidden_in, one.proof)) for one in theorems)


def test_every_line_of_a_tactic_is_below_the_statement() -> None:
    text = script(THEOREM, ["intro h", "have k := h\nexact k"])
    assert text == f"{THEOREM.statement}\n  intro h\n  have k := h\n  exact k\n\n#print axioms {THEOREM.name}"


def test_it_reads_the_columns_that_published_data_has() -> None:
    plain = {"formal_statement": "theorem a (x : ℝ) : x = x := by", "header": "import Mathlib\n", "split": "test"}
    first = theorem_of(plain, "row 0")
    assert (first.name, first.header, first.held_out) == ("a", "import Mathlib", True)
    other = {
        "formal_statement": "lemma l : True := sorry",
        "imports": ["import A", "import B"],
        "preamble": "open Nat",
        "informal_prefix": "/-- Trivial. -/",
    }
    second = theorem_of(other, "row 1")
    assert (second.statement, second.header) == ("lemma l : True := by", "import A\nimport B\nopen Nat")
    assert (second.informal, second.held_out) == ("Trivial.", False)


@pytest.mark.parametrize("statement", ["", "example : True := by", "theorem a : True", "def x := 1"])
def test_a_row_without_a_theorem_to_prove_is_refused(statement: str) -> None:
    with pytest.raises(ConfigError, match="row 3 has no theorem to prove"):
        theorem_of({"formal_statement": statement}, "row 3")


def test_training_and_evaluation_have_different_theorems(tmp_path: Path) -> None:
    environment = make_environment("lean")
    seen = {
        split: {environment.reset(seed=seed, options={"split": split}) and environment.problem() for seed in range(300)}
        for split in ("train", "held_out")
    }
    # of 64, every fifth from the first: 13
    assert (len(seen["train"]), len(seen["held_out"])) == (51, 13)
    assert not seen["train"] & seen["held_out"]


def test_the_known_proof_is_followed_while_it_can_be(server: Behaviour) -> None:
    environment = started()
    solution = environment.solution()
    assert isinstance(solution, list)
    server.result = response(message("error", "unsolved goals\n⊢ q"))
    environment.step("have k := h")
    assert not isinstance(environment.solution(), list)


def test_a_local_toolchain_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.environments.lean.local.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="needs lean-interact"):
        make_environment("lean", checker="local")


def test_the_scripted_player_proves_what_it_knows(server: Behaviour) -> None:
    # its proofs have one to three tactics, within the 15 turns proposed
    found = baseline(EnvironmentConfig.model_validate({"kind": "lean"}), "scripted", episodes=20)
    assert found.success == 1.0
    assert found.mean_return > 10
