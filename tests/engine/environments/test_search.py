"""SearchQA: scores, the index, and episodes over the shipped encyclopaedia and over files."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from engine.environments import make_environment
from engine.environments.data.rows import read_rows
from engine.environments.search.corpus import index_of, shipped
from engine.environments.search.environment import Search
from engine.environments.search.index import Article, Index
from engine.environments.search.scoring import exact_match, f1, normalised
from engine.errors import ConfigError

TITLES = [row["title"] for row in read_rows("encyclopaedia")]


def started(seed: int = 0, **parameters: Any) -> Search:
    environment = make_environment("search", **parameters)
    assert isinstance(environment, Search)
    environment.reset(seed=seed)
    return environment


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("The Beatles", "beatles"),
        ("  a  dog,   an owl!  ", "dog owl"),
        ("U.S.", "us"),
        ("theatre", "theatre"),  # articles are words, not parts of them
        ("A-the", "athe"),  # punctuation goes before articles
        ("Zoë’s", "zoë’s"),  # only ASCII punctuation goes
        ("the", ""),
    ],
)
def test_answers_are_normalised_as_in_hotpotqas_evaluation(written: str, plain: str) -> None:
    assert normalised(written) == plain


@pytest.mark.parametrize(
    ("given", "expected", "em", "score"),
    [
        ("The Eiffel Tower!", "eiffel tower", 1.0, 1.0),
        ("Eiffel Tower in Paris", "Eiffel Tower", 0.0, 2 * 2 / (4 + 2)),  # 2 shared, of 4 and of 2 words
        ("tower", "Eiffel Tower", 0.0, 2 / 3),
        ("Paris", "Rome", 0.0, 0.0),
        ("new new york", "new york", 0.0, 4 / 5),  # each word counts as often as in both
        ("yes it is", "yes", 0.0, 0.0),  # yes and no match as a whole
        ("no", "no way", 0.0, 0.0),
        ("Yes.", "yes", 1.0, 1.0),
        ("", "", 1.0, 0.0),
    ],
)
def test_exact_match_and_f1_by_hand(given: str, expected: str, em: float, score: float) -> None:
    assert exact_match(given, [expected]) == em
    assert f1(given, [expected]) == pytest.approx(score)


def test_the_best_of_several_expected_answers_counts() -> None:
    assert exact_match("NYC", ["New York", "NYC"]) == 1.0
    assert f1("York", ["Rome", "New York"]) == pytest.approx(2 / 3)


def test_an_article_is_found_by_its_title_first() -> None:
    index = index_of(shipped("all"))
    assert all(index.search(title, 1)[0].article.title == title for title in TITLES[::40])


def test_stems_match_and_rare_words_count_more() -> None:
    index = Index([Article("One", "It rains."), Article("Two", "It is raining cats."), Article("Three", "It is dry.")])
    assert {hit.article.title for hit in index.search("rain", 9)} == {"One", "Two"}
    best = index.search("it cats", 9)[0]
    assert best.article.title == "Two"


@pytest.mark.parametrize(
    "query", ['NEAR("a" "b")', "-x*", 'title: "', "a AND NOT (b)", "\x00'; DROP TABLE articles", "☃"]
)
def test_syntax_in_a_query_is_only_words(query: str) -> None:
    index = index_of(shipped("all"))
    index.search(query, 3)
    assert len(index) == 1254


def test_an_index_is_used_from_several_threads() -> None:
    index = index_of(shipped("all"))
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda title: index.search(title, 1)[0].article.title, TITLES[:200]))
    assert found == TITLES[:200]


FORKED = """
import os
from engine.environments.search.corpus import index_of, shipped

here = index_of(shipped("all"))
child = os.fork()
if child == 0:
    os._exit(0 if index_of(shipped("all")) is not here else 1)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_process_makes_an_index_of_its_own() -> None:
    # in a process without threads: a fork of the tests' own could wait for a lock that one of its threads held
    assert subprocess.run([sys.executable, "-c", FORKED], timeout=60, check=False).returncode == 0


def test_an_exact_answer_earns_1_an_inexact_one_its_f1_above_the_threshold_and_others_0() -> None:
    search = started(questions="one_hop", f1_threshold=0.5)
    search.question = type(search.question)("Who?", ("Torvel Eldrath",))
    for answer, reward, success in (
        ("torvel eldrath", 1.0, True),
        ("Torvel", 2 / 3, False),  # precision 1, recall 1/2
        ("that man Eldrath of the old town", 0.0, False),  # F1 2/(6+2) = 0.25 ("the" is dropped)
        ("nobody", 0.0, False),
    ):
        search.answer, search.over = None, False
        _, earned, over, truncated, info = search.step(f"finish[{answer}]")
        assert earned == pytest.approx(reward)
        assert (over, truncated, info["success"]) == (True, False, success)
        assert info["em"] == float(success)


def test_searches_earn_nothing_and_are_counted() -> None:
    search = started()
    _, reward, over, _, info = search.step("search[river]")
    assert (reward, over) == (0.0, False)
    expected = {"searches": 1, "em": 0.0, "f1": 0.0}
    assert info == {"action_is_valid": True, "action_is_effective": True, "success": False, **expected}
    _, _, _, _, again = search.step(" Search [ river ] ")
    assert (again["action_is_valid"], again["action_is_effective"], again["searches"]) == (True, False, 2)


@pytest.mark.parametrize(
    "text", ["", "river", "search[]", "search[ ]", "finish[]", "search river", "look[x]", "search[" + "x" * 301 + "]"]
)
def test_anything_else_is_invalid_and_changes_nothing(text: str) -> None:
    search = started()
    before = search.render()
    observation, reward, over, _, info = search.step(text)
    assert (observation, reward, over, info["action_is_valid"], info["searches"]) == (before, 0.0, False, False, 0)


def test_a_query_may_hold_brackets_and_lines() -> None:
    search = started()
    assert search.step("search[a [b]\nc]")[4]["action_is_valid"]
    assert search.query == "a [b]\nc"


def test_what_is_shown_is_cut_to_its_limits() -> None:
    search = started(max_results=5, max_article_characters=50, max_characters=200)
    lines = search.step("search[town river country]")[0].split("\n")[2:]
    assert all(len(line) < 50 + 40 for line in lines)
    assert sum(map(len, lines)) <= 200 + len("...")
    assert lines[0].startswith("1. ")


def test_a_search_for_nothing_known_says_so() -> None:
    assert started().step("search[☃ ☃]")[0].endswith("\nNothing was found.")


@pytest.mark.parametrize("questions", ["one_hop", "bridge", "comparison"])
def test_the_scripted_player_searches_for_each_article_and_succeeds(questions: str) -> None:
    for seed in range(40):
        search = started(seed, questions=questions)
        turns = 0
        while not search.over:
            _, reward, _, _, info = search.step(search.scripted_action(np.random.default_rng(0)))
            turns += 1
            if not search.over:  # each search shows the article that it is for
                assert search.question.supporting[turns - 1] in search.render().split("\n", 2)[2]
        assert (reward, info["success"], info["searches"]) == (1.0, True, turns - 1)
        assert turns == 1 + (1 if questions == "one_hop" else 2)


def test_a_random_player_rarely_succeeds() -> None:
    rng, won = np.random.default_rng(0), 0
    for seed in range(100):
        search = started(seed)
        for _ in range(5):
            if not search.over:
                won += search.step(search.random_action(rng))[4]["success"]
    assert won < 15  # only comparisons name their answer


def test_held_out_questions_are_on_other_articles() -> None:
    corpus = shipped("all")
    sides = [{title for question in side for title in question.supporting} for side in (corpus.train, corpus.held_out)]
    assert not sides[0] & sides[1]
    search = started()
    search.reset(seed=1, options={"split": "held_out"})
    assert search.question in corpus.held_out


def hotpot(count: int) -> Iterator[dict[str, Any]]:
    """Rows in the columns of HotpotQA's Parquet files."""
    for n in range(count):
        titles = [f"Book {n}", f"Writer {n}"]
        sentences = [[f"Book {n} was written", f" by Writer {n}."], [f"Writer {n} was born in Town{n}."]]
        yield {
            "id": str(n),
            "question": f"Where was the writer of Book {n} born?",
            "answer": f"Town{n}",
            "type": "bridge",
            "level": "easy",
            "supporting_facts": {"title": titles, "sent_id": [0, 0]},
            "context": {"title": titles, "sentences": sentences},
        }


def as_json(row: dict[str, Any]) -> dict[str, Any]:
    """The same in the form of HotpotQA's JSON files, with pairs in place of columns."""
    facts, context = row["supporting_facts"], row["context"]
    return {
        **{"_id" if key == "id" else key: value for key, value in row.items()},
        "supporting_facts": [list(pair) for pair in zip(facts["title"], facts["sent_id"], strict=True)],
        "context": [list(pair) for pair in zip(context["title"], context["sentences"], strict=True)],
    }


@pytest.mark.parametrize("suffix", [".parquet", ".json"])
def test_hotpotqas_files_are_read_with_their_contexts_as_the_corpus(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"some{suffix}"
    if suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(list(hotpot(30))), path)
    else:
        path.write_text(json.dumps([as_json(row) for row in hotpot(30)]))
    search = started(path=str(path))
    assert search.corpus is not None and len(search.corpus.articles) == 60
    assert {len(search.corpus.train) + len(search.corpus.held_out)} == {30}
    for _ in range(2):
        search.step(search.scripted_action(np.random.default_rng(0)))
    assert "was born in Town" in search.render()
    assert search.step(search.scripted_action(np.random.default_rng(0)))[1] == 1.0


@pytest.mark.parametrize(
    "answers", [{"ground_truth": "a"}, {"golden_answers": ["a", "b"]}, {"ground_truth": {"target": ["a"]}}]
)
def test_questions_without_contexts_need_a_server(answers: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text("\n".join(json.dumps({"question": f"{n}?", **answers}) for n in range(30)))
    with pytest.raises(ConfigError, match="Give a retrieval server"):
        started(path=str(path))
    search = started(path=str(path), server="http://127.0.0.1:9")
    assert search.step("finish[a]")[1] == 1.0


def test_the_drawing_has_the_last_search_and_in_the_end_what_was_expected() -> None:
    search = started()
    for query in ("sea", "river"):
        search.step(f"search[{query}]")
    search.step("finish[x]")
    blocks = search.drawing()["blocks"]
    assert [block["kind"] for block in blocks] == ["heading", "list", "button", "list", "text", "text"]
    assert blocks[1]["text"] == ["search[sea]"]
    assert blocks[2] == {"kind": "button", "text": "search[river]", "state": "chosen"}
    assert blocks[5]["text"] == f"Expected: {search.question.answers[0]}"
