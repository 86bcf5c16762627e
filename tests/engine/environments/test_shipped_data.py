"""The data that ships: its scripts write it again, its answers are right, and its splits share nothing."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import pytest

from engine.environments.data import choice_questions, encyclopaedia, rows, word_problems
from engine.environments.data.word_problem_templates import TEMPLATES

MAKERS = {
    "word_problems": word_problems.word_problems,
    "choice_questions": choice_questions.choice_questions,
    "encyclopaedia": encyclopaedia.articles,
    "encyclopaedia_questions": encyclopaedia.questions,
}


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_its_script_writes_the_file_again(name: str) -> None:
    shipped = rows.read_rows(name)
    assert list(islice(MAKERS[name](), 400)) == shipped[:400]


def test_equal_rows_give_equal_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rows, "FOLDER", tmp_path)
    written = rows.write_rows("some", [{"a": "é"}, {"b": [1]}])
    content = written.read_bytes()
    assert rows.write_rows("some", [{"a": "é"}, {"b": [1]}]).read_bytes() == content
    assert rows.read_rows("some") == [{"a": "é"}, {"b": [1]}]


def test_all_of_it_is_below_300_kilobytes() -> None:
    assert sum(file.stat().st_size for file in rows.FOLDER.glob("*.jsonl.gz")) < 300_000


def test_each_word_problem_is_solved_by_its_last_line_whose_sum_is_right() -> None:
    for row in rows.read_rows("word_problems"):
        *_, last = lines = row["solution"].split("\n")
        assert len(lines) == row["steps"]
        assert last.endswith(f"= {row['answer']}")
        for line in lines:
            left, operator, right, result = re.search(r"(\d+) ([-+*/]) (\d+) = (\d+)$", line).groups()  # type: ignore[union-attr]
            expected = {"+": int(left) + int(right), "-": int(left) - int(right), "*": int(left) * int(right)}
            assert int(left) == int(right) * int(result) if operator == "/" else int(result) == expected[operator]


def test_word_problems_are_distinct_and_have_one_to_four_steps() -> None:
    found = rows.read_rows("word_problems")
    assert len({row["question"] for row in found}) == len(found) == 120 * len(TEMPLATES)
    assert {row["steps"] for row in found} == {1, 2, 3, 4}
    assert not any("{" in row["question"] + row["solution"] for row in found)


def test_numbers_of_a_template_are_on_one_side_whatever_the_names() -> None:
    sides: dict[tuple[str, tuple[str, ...]], set[str]] = {}
    for row in rows.read_rows("word_problems"):
        sides.setdefault((row["topic"], tuple(re.findall(r"\d+", row["solution"]))), set()).add(row["split"])
    assert all(len(split) == 1 for split in sides.values())


@pytest.mark.parametrize("name", ["word_problems", "choice_questions", "encyclopaedia_questions"])
def test_about_a_fifth_is_held_out(name: str) -> None:
    found = rows.read_rows(name)
    share = sum(row["split"] == "held_out" for row in found) / len(found)
    assert share == pytest.approx(0.2, abs=0.02)


def test_choices_are_four_different_ones_and_the_right_one_is_anywhere() -> None:
    found = rows.read_rows("choice_questions")
    assert all(len(set(row["choices"])) == 4 for row in found)
    # 1,650 answers over four positions: 412 each, with a standard deviation of sqrt(1650 * 3/16) = 18
    assert all(abs(sum(row["answer"] == index for row in found) - 412) < 72 for index in range(4))


def test_arithmetic_choices_are_right() -> None:
    checked = 0
    for row in rows.read_rows("choice_questions"):
        sum_of = re.fullmatch(r"What is (\d+) \+ (\d+)\?", row["question"])
        rest = re.fullmatch(r"What is the remainder when (\d+) is divided by (\d+)\?", row["question"])
        if sum_of:
            assert row["choices"][row["answer"]] == str(int(sum_of[1]) + int(sum_of[2]))
        if rest:
            assert row["choices"][row["answer"]] == str(int(rest[1]) % int(rest[2]))
        checked += bool(sum_of or rest)
    assert checked > 180  # all 150 remainders, and about a third of 150 sums and the like


def test_articles_have_different_titles() -> None:
    found = rows.read_rows("encyclopaedia")
    assert len({row["title"] for row in found}) == len(found) == 1254


def test_training_and_held_out_questions_need_no_article_in_common() -> None:
    needed: dict[str, set[str]] = {"train": set(), "held_out": set()}
    for row in rows.read_rows("encyclopaedia_questions"):
        needed[row["split"]].update(row["supporting"])
    assert not needed["train"] & needed["held_out"]


def test_the_first_article_of_a_bridge_names_the_second_which_has_the_answer() -> None:
    texts = {row["title"]: row["text"] for row in rows.read_rows("encyclopaedia")}
    for row in rows.read_rows("encyclopaedia_questions"):
        if row["type"] == "bridge":
            first, second = row["supporting"]
            assert first in row["question"] and second not in row["question"]
            assert second in texts[first]
            assert row["answer"] in texts[second]


def test_the_answer_to_which_of_two_is_one_of_them_and_follows_from_their_articles() -> None:
    texts = {row["title"]: row["text"] for row in rows.read_rows("encyclopaedia")}
    longer = [r for r in rows.read_rows("encyclopaedia_questions") if r["question"].startswith("Which river is longer")]
    assert len(longer) > 30
    for row in longer:
        lengths = {title: int(re.search(r"(\d+) kilometres", texts[title])[1]) for title in row["supporting"]}  # type: ignore[index]
        assert row["answer"] == max(lengths, key=lengths.__getitem__)


def test_the_files_have_a_licence() -> None:
    text = (rows.FOLDER / "LICENSE.md").read_text()
    assert "CC0" in text
    assert all(file.name in text for file in rows.FOLDER.glob("*.jsonl.gz"))
