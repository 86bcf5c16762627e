"""Templates in thoughts written by hand: what is nearly the same on different prompts, and what is not."""

from __future__ import annotations

import json

import pytest

from engine.diagnostics.templates import Templates, Thought, find_templates

LONG = "first I look at the board then I look at the goal then I think about the holes and then I go {}"


def said(*pairs: tuple[str, str]) -> list[Thought]:
    """`(prompt, text)` pairs as the members of one group."""
    return [Thought(text=text, prompt=prompt, member=index) for index, (prompt, text) in enumerate(pairs)]


def shares(found: Templates) -> tuple[float, float]:
    return found.share, found.largest


def test_the_same_words_on_two_prompts_are_a_template() -> None:
    found = find_templates(said(("p", "go up"), ("q", "go up"), ("r", "the goal is left"), ("r", "a hole is near me")))
    [template] = found.found
    assert (template.text, template.count, template.prompts, template.wordings) == ("go up", 2, 2, 1)
    assert shares(found) == (0.5, 0.5)


def test_the_same_words_on_one_prompt_are_no_template() -> None:
    assert find_templates(said(*[("p", "go up")] * 5)).found == []


def test_one_word_of_many_may_differ_and_one_of_few_may_not() -> None:
    # 23 words with one changed: 2 edits of 46, so 0.957 alike; 4 words: 2 of 8, so 0.75
    near = find_templates(said(("p", LONG.format("up")), ("q", LONG.format("left"))))
    assert [(one.count, one.wordings) for one in near.found] == [(2, 2)]
    assert find_templates(said(("p", "I will go up"), ("q", "I will go left"))).found == []
    assert find_templates(said(("p", "I will go up"), ("q", "I will go left")), similarity=0.75).share == 1.0


def test_words_in_another_order_are_other_words() -> None:
    assert find_templates(said(("p", "left then up then stop"), ("q", "stop then up then left"))).found == []


def test_spaces_and_lines_do_not_matter() -> None:
    assert find_templates(said(("p", "go  up\n"), ("q", " go up"))).found[0].wordings == 1


def test_empty_thoughts_do_not_count() -> None:
    found = find_templates(said(("p", ""), ("q", "  "), ("p", "go up"), ("q", "go up")))
    assert (found.thoughts, found.share) == (2, 1.0)
    assert shares(find_templates([])) == (0.0, 0.0)


def test_templates_come_largest_first_and_say_where_to_look() -> None:
    small = [("p", "one two"), ("q", "one two")]
    large = [("p", "three four"), ("q", "three four"), ("r", "three four")]
    found = find_templates(said(*small, *large)).found
    assert [one.count for one in found] == [3, 2]
    assert found[0].example == {"group": 0, "member": 2, "turn": 0}


def test_a_template_names_the_prompts_it_was_used_on_and_each_prompt_once() -> None:
    thoughts = [
        Thought(text=text, prompt=("Lake", state), group=group, member=member, environment="Lake", seed=70 + group,
                state=state)
        for group, member, state, text in [
            (0, 0, "P_G", "go up"), (0, 1, "P_G", "go up"), (1, 0, "_PG", "go up"), (1, 1, "_PG", "one two"),
            (2, 0, "G_P", "one two"),
        ]
    ]  # fmt: skip
    kept = find_templates(thoughts).to_json(step=1)
    assert kept["prompts"][0] == {"environment": "Lake", "seed": 70, "group": 0, "turn": 0, "state": "P_G"}
    assert [prompt["state"] for prompt in kept["prompts"]] == ["P_G", "_PG", "G_P"]
    up, two = kept["templates"]
    assert up["used_on"] == [{"prompt": 0, "count": 2, "member": 0}, {"prompt": 1, "count": 1, "member": 0}]
    assert two["used_on"] == [{"prompt": 1, "count": 1, "member": 1}, {"prompt": 2, "count": 1, "member": 0}]


def test_a_pool_of_templates_is_found_whole_and_thoughts_of_their_own_are_not() -> None:
    pool = [f"template number {i} says the very same words each time" for i in ("one", "two", "three")]
    stock = [(f"p{i}", pool[i % 3]) for i in range(30)]
    own = [(f"p{i}", f"at {i} {i + 1} {i + 2} {i + 3} {i + 4} {i + 5}") for i in range(30)]
    assert shares(find_templates(said(*stock))) == (1.0, pytest.approx(1 / 3))
    assert find_templates(said(*own)).share == 0.0
    assert find_templates(said(*stock, *own)).share == 0.5


def test_a_template_keeps_its_key_while_its_words_nearly_stay() -> None:
    before = find_templates(said(("p", LONG.format("up")), ("q", LONG.format("up")))).found[0]
    now = find_templates(
        said(("p", LONG.format("left")), ("q", LONG.format("left")), ("p", "go up"), ("q", "go up")),
        known=[(before.key, before.text)],
    ).found
    keys = {one.text: one.key for one in now}
    assert keys[LONG.format("left")] == before.key
    assert keys["go up"] != before.key


def test_two_templates_never_share_a_key() -> None:
    known = [("k", "a b c d e f g h i j k l m n")]
    both = ["a b c d e f g h i j k l m x y", "z a b c d e f g h i j k l m"]  # both like the known, not like each other
    found = find_templates(
        said(*[(prompt, text) for text in both for prompt in "pq"]), known=known, similarity=0.92
    ).found
    assert len({one.key for one in found}) == len(found) == 2


def test_many_different_thoughts_stay_cheap_and_the_rare_ones_are_left_out() -> None:
    found = find_templates(
        said(*[(f"p{i}", f"{i} {i + 1}") for i in range(600)], *[("p", "go up"), ("q", "go up")] * 2)
    )
    assert [(one.text, one.count) for one in found.found] == [("go up", 4)]
    assert found.thoughts == 604


def test_what_is_kept_is_json_and_long_texts_are_cut() -> None:
    endless = "word " * 1000
    kept = json.loads(json.dumps(find_templates(said(("p", endless), ("q", endless))).to_json(step=7)))
    assert (kept["step"], kept["thoughts"], kept["collapse/template_share"]) == (7, 2, 1.0)
    [template] = kept["templates"]
    assert (template["count"], template["prompts"], len(template["text"])) == (2, 2, 2000)
