"""The theorems that ship, from statements about propositions, natural numbers, integers, Booleans and lists."""

from __future__ import annotations

from functools import cache

from engine.environments.lean.theorems import Theorem

# name, what follows it up to `:= by`, and a proof, one tactic a line
PROPOSITIONS = (
    ("and_swap", "(p q : Prop) (h : p ∧ q) : q ∧ p", "constructor\nexact h.2\nexact h.1"),
    ("or_swap", "(p q : Prop) (h : p ∨ q) : q ∨ p", "exact h.elim Or.inr Or.inl"),
    ("imp_refl", "(p : Prop) : p → p", "intro h\nexact h"),
    ("imp_trans", "(p q r : Prop) (f : p → q) (g : q → r) : p → r", "intro h\nexact g (f h)"),
    ("imp_swap", "(p q r : Prop) (f : p → q → r) : q → p → r", "intro hq hp\nexact f hp hq"),
    ("imp_const", "(p q : Prop) : p → q → p", "intro hp _\nexact hp"),
    ("contrapose", "(p q : Prop) (f : p → q) (h : ¬q) : ¬p", "intro hp\nexact h (f hp)"),
    ("not_not_intro", "(p : Prop) (h : p) : ¬¬p", "intro n\nexact n h"),
    ("absurd_any", "(p q : Prop) (h : p) (n : ¬p) : q", "exact absurd h n"),
    ("and_assoc_right", "(p q r : Prop) (h : (p ∧ q) ∧ r) : p ∧ q ∧ r", "exact ⟨h.1.1, h.1.2, h.2⟩"),
    ("or_assoc_one", "(p q r : Prop) (h : p) : (p ∨ q) ∨ r", "left\nleft\nexact h"),
    ("and_or_left", "(p q r : Prop) (h : p) (k : q ∨ r) : p ∧ (q ∨ r)", "exact ⟨h, k⟩"),
    ("not_or_left", "(p q : Prop) (h : ¬(p ∨ q)) : ¬p", "intro hp\nexact h (Or.inl hp)"),
    ("iff_swap", "(p q : Prop) (h : p ↔ q) : q ↔ p", "exact h.symm"),
    ("iff_forward", "(p q : Prop) (h : p ↔ q) (hp : p) : q", "exact h.mp hp"),
    ("curry", "(p q r : Prop) (f : p ∧ q → r) : p → q → r", "intro hp hq\nexact f ⟨hp, hq⟩"),
    ("uncurry", "(p q r : Prop) (f : p → q → r) : p ∧ q → r", "intro h\nexact f h.1 h.2"),
    ("or_elim_both", "(p r : Prop) (h : p ∨ p) (f : p → r) : r", "exact h.elim f f"),
    ("exists_of_both", "(P : Nat → Prop) (h : P 3) : ∃ n, P n", "exact ⟨3, h⟩"),
    ("forall_at", "(P : Nat → Prop) (h : ∀ n, P n) : P 7", "exact h 7"),
    ("not_exists_at", "(P : Nat → Prop) (h : ¬∃ n, P n) : ¬P 2", "intro h2\nexact h ⟨2, h2⟩"),
    ("true_and_self", "(p : Prop) (h : p) : True ∧ p", "constructor\ntrivial\nexact h"),
)
NUMBERS = (
    ("two_and_two", ": 2 + 2 = 4", "rfl"),
    ("product_of_small", ": 12 * 12 = 144", "rfl"),
    ("add_swap", "(a b : Nat) : a + b = b + a", "omega"),
    ("add_rotate", "(a b c : Nat) : a + b + c = c + a + b", "omega"),
    ("add_cancel", "(a b c : Nat) (h : a + c = b + c) : a = b", "omega"),
    ("double_is_sum", "(n : Nat) : 2 * n = n + n", "omega"),
    ("solve_linear", "(x : Nat) (h : 3 * x + 4 = 19) : x = 5", "omega"),
    ("solve_two", "(x y : Nat) (h : x + y = 10) (k : x = y + 4) : x = 7", "omega"),
    ("succ_positive", "(n : Nat) : 0 < n + 1", "omega"),
    ("le_add", "(a b : Nat) : a ≤ a + b", "omega"),
    ("lt_chain", "(a b c : Nat) (h : a < b) (k : b < c) : a + 1 < c", "omega"),
    ("le_antisymmetric", "(a b : Nat) (h : a ≤ b) (k : b ≤ a) : a = b", "omega"),
    ("not_lt_self", "(n : Nat) : ¬n < n", "omega"),
    ("cases_zero", "(n : Nat) (h : n < 2) : n = 0 ∨ n = 1", "omega"),
    ("mod_two", "(n : Nat) : n % 2 = 0 ∨ n % 2 = 1", "omega"),
    ("even_double", "(n : Nat) : (2 * n) % 2 = 0", "omega"),
    ("sub_self", "(n : Nat) : n - n = 0", "omega"),
    ("sub_add_back", "(a b : Nat) (h : b ≤ a) : a - b + b = a", "omega"),
    ("half_of_double", "(n : Nat) : 2 * n / 2 = n", "omega"),
    ("exists_larger", "(n : Nat) : ∃ m, n < m", "exact ⟨n + 1, by omega⟩"),
    ("exists_double", ": ∃ n : Nat, 2 * n = 14", "exact ⟨7, rfl⟩"),
    ("mul_swap", "(a b : Nat) : a * b = b * a", "exact Nat.mul_comm a b"),
    ("mul_add_left", "(a b c : Nat) : a * (b + c) = a * b + a * c", "exact Nat.mul_add a b c"),
    ("replace_equal", "(a b : Nat) (h : a = b) : a + 1 = b + 1", "rw [h]"),
    ("replace_twice", "(a b c : Nat) (h : a = b) (k : b = c) : a = c", "rw [h]\nexact k"),
    ("integer_negation", "(a : Int) : a + -a = 0", "omega"),
    ("integer_linear", "(x : Int) (h : 2 * x + 7 = 1) : x = -3", "omega"),
    ("integer_order", "(a b : Int) (h : a < b) : -b < -a", "omega"),
    ("integer_difference", "(a b : Int) : a - b = -(b - a)", "omega"),
    ("integer_two", "(x y : Int) (h : x + y = 3) (k : x - y = 7) : y = -2", "omega"),
    ("integer_between", "(x : Int) (h : 3 < 2 * x) (k : 2 * x < 5) : x = 2", "omega"),
    ("integer_odd", "(x : Int) : 2 * x ≠ 7", "omega"),
)
DATA = (
    ("not_not_bool", "(b : Bool) : (!(!b)) = b", "cases b\nrfl\nrfl"),
    ("and_true_bool", "(b : Bool) : (b && true) = b", "cases b\nrfl\nrfl"),
    ("or_swap_bool", "(a b : Bool) : (a || b) = (b || a)", "cases a <;> cases b <;> rfl"),
    ("length_of_three", ": [1, 2, 3].length = 3", "rfl"),
    ("append_nothing", "(l : List Nat) : l ++ [] = l", "simp"),
    ("length_append", "(a b : List Nat) : (a ++ b).length = a.length + b.length", "simp"),
    ("reverse_twice", "(l : List Nat) : l.reverse.reverse = l", "simp"),
    ("head_of_cons", "(a : Nat) (l : List Nat) : (a :: l).head? = some a", "rfl"),
    ("pair_first", "(a b : Nat) : (a, b).1 = a", "rfl"),
    ("pair_equal", "(a b : Nat) (h : a = b) : (a, b) = (b, a)", "subst h\nrfl"),
)
HELD_OUT_EVERY = 5


@cache
def shipped_theorems() -> tuple[Theorem, ...]:
    """Every fifth is held out."""
    return tuple(
        Theorem(
            name=f"given_{name}",
            statement=f"theorem given_{name} {rest} := by",
            proof=tuple(proof.split("\n")),
            held_out=index % HELD_OUT_EVERY == 0,
        )
        for index, (name, rest, proof) in enumerate((*PROPOSITIONS, *NUMBERS, *DATA))
    )
