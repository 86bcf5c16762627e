"""The pages of findings: each has its question, its answer, what recorded data says, and links that lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.science import generalisation
from benchmarks.science.__main__ import FINDINGS
from benchmarks.science.blocks import NOT_RUN, PARTLY_RUN, buckets_table, index, is_open, open_questions, pages
from benchmarks.science.catalogue import EXPERIMENTS
from benchmarks.science.detection_tables import recorded_outcomes, verdict_stages
from benchmarks.science.mi_and_success import CONDITIONS, RunSummary, summaries
from benchmarks.science.pages import PART, written
from engine.suites.command import read_suite
from engine.suites.resolve import require_held_out

INDEX = FINDINGS.with_suffix(".md")
PAGES = [INDEX, *sorted(FINDINGS.glob("*.md"))]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)#\s]+)")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_what_is_made_from_recorded_data_is_up_to_date(path: Path) -> None:
    text = path.read_text()
    assert PART.search(text) or path.stem == "slow_collapse"
    assert written(text) == text, "run python -m benchmarks.science.pages"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_and_figures_lead_to_files(path: Path) -> None:
    targets = [found for found in LINK.findall(path.read_text()) if "://" not in found]
    assert [found for found in targets if not (path.parent / found).exists()] == []


def test_every_experiment_has_a_page_with_its_question_and_its_results() -> None:
    for experiment in EXPERIMENTS.values():
        text = (FINDINGS / f"{experiment.name}.md").read_text()
        assert text.startswith(f"# {experiment.question}\n")
        assert f"<!-- results: {experiment.name} -->" in text


def test_the_index_has_the_question_and_the_answer_of_every_page() -> None:
    assert len(pages()) == len(list(FINDINGS.glob("*.md")))
    for name in pages():
        title, answer = (FINDINGS / f"{name}.md").read_text().split("\n\n")[:2]
        assert f"* [{title.removeprefix('# ')}](findings/{name}.md)" in (open_questions() if is_open(name) else index())
        assert (answer in (NOT_RUN, PARTLY_RUN)) is is_open(name)


def test_the_arms_that_reuse_rollouts_make_as_many_updates() -> None:
    # 60 x 2 x 1, 12 x 2 x 5, 6 x 2 x 10: steps, mini-batches, passes
    experiment = EXPERIMENTS["online_k"]
    configs = [experiment.config(arm, 1) for arm in experiment.arms]
    updates = [config.steps * config.optimizer.updates_per_step * config.optimizer.epochs for config in configs]
    assert updates == [120, 120, 120]
    assert "120 updates" in (FINDINGS / "online_k.md").read_text()


def test_the_size_of_updates_detects_a_high_rate_where_runs_both_collapse_and_recover() -> None:
    rules = {name: {one.clear.rule: one.clear for one in of} for name, of in recorded_outcomes().items()}
    lake, bandit = rules["FrozenLake, 10 x rate"]["kl_high"], rules["bandit, 5 or 10 x rate"]["kl_high"]
    assert (lake.hits + bandit.hits, lake.collapsed + bandit.collapsed) == (5, 12)
    assert (lake.false_alarms + bandit.false_alarms, lake.healthy + bandit.healthy) == (14, 20)


def test_the_verdict_is_counted_by_family_as_the_rules_are() -> None:
    lines = verdict_stages().splitlines()
    assert "| verdict: collapsing | 3/11 [0.10, 0.57] | 20 | 8 | 6/13 [0.23, 0.71] | 2.0/13 | – |" in lines
    # 71 runs at the starter rate and 6 on the reversed bandit that kept their success: none shows it
    assert "| verdict: collapsing | 0/71 [0.00, 0.05] | 0/1 | 0/6 [0.00, 0.39] | 4/6 |" in lines


def test_gradients_by_bucket_are_means_over_seeds_with_an_interval() -> None:
    lines = buckets_table("gradient_by_reward_std").splitlines()
    assert lines[0] == "| bucket by reward std | 1 | 2 | 3 | 4 | 5 | 6 |"
    assert lines[3].startswith("| task gradient | 0.0897 [-0.113, 0.292] |")


def test_mutual_information_is_correlated_run_by_run_and_in_its_changes() -> None:
    # mutual information and success fall together, 3 2 1 0; changes of -1 each are constant, which has no correlation
    falls = RunSummary(final_mi=0.0, final_success=0.0, together=[(0.9, 0.6), (0.6, 0.4), (0.3, 0.2), (0.1, 0.0)])
    assert falls.along() == pytest.approx(1.0)
    # changes of MI -0.3, -0.1, -0.2 and of success 0.1, -0.1, 0.0: ranks 1 3 2 and 3 1 2
    against = RunSummary(final_mi=0.0, final_success=0.0, together=[(0.9, 0.2), (0.6, 0.3), (0.5, 0.2), (0.3, 0.2)])
    assert against.of_changes() == pytest.approx(-1.0)


def test_every_condition_of_mutual_information_has_its_runs() -> None:
    assert [len(summaries(*where)) for where in CONDITIONS.values()] == [6, 6, 6, 18, 15, 12, 12, 5, 8, 24, 30, 5]


def test_gains_on_other_lakes_are_means_over_training_seeds() -> None:
    # 0.5 before; 0.6, 0.7, 0.8 after: gains of mean 0.2, standard error 0.1 / sqrt(3), t(2) = 4.303: 0.2 +- 0.248
    after = [{"seed": seed, "items": {"6x6": [solved, 10]}} for seed, solved in ((1, 6), (2, 7), (3, 8))]
    lines = generalisation.table([{"seed": None, "items": {"6x6": [5, 10]}}, *after]).splitlines()
    assert lines[2] == "| 6x6 | 0.500 | 0.700 | 0.2 [-0.0484, 0.448] |"


def test_the_lakes_are_a_suite_of_problems_that_no_run_trains_on() -> None:
    suite = read_suite(str(generalisation.SUITE))
    require_held_out(suite)
    assert suite.items[0].name == "same lakes" and len(suite.items) == 6
