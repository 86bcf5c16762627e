"""Under every window, what is trained is what was sampled, under exactly the prompt that the model saw."""

from __future__ import annotations

import pytest
import torch

from engine.algorithms.advantages import gae, grpo
from engine.config import build_config
from engine.errors import ConfigError
from engine.rollout.batching import collate
from engine.rollout.context_windows import WINDOWS as KNOWN
from engine.rollout.records import record_of
from engine.rollout.types import Trajectory
from engine.training.token_values import Critic, logprobs_and_entropies, split_contexts
from tests.engine.models import small_model, words
from tests.engine.rollout.builders import WINDOWS, lake_config, roll_out, say
from tests.engine.talker import talking_model

LEFT, RIGHT = "go</think><answer>Left</answer>", "go</think><answer>Right</answer>"
PAIR = {"groups": 1, "group_size": 2}
every_window = pytest.mark.parametrize(("context", "turns"), WINDOWS)


def decoded(ids: list[int]) -> str:
    return str(words().decode(ids))


def test_every_window_of_the_configuration_is_tested() -> None:
    assert {context for context, _ in WINDOWS} == set(KNOWN)


def test_the_prompt_after_a_malformed_response_says_so() -> None:
    free = lake_config("full", rollout=PAIR, format_penalty=0.0)
    trajectory, _ = say(free, ["so it is", LEFT])
    assert decoded(trajectory.seen(trajectory.turns[1])).count("Not understood.") == 1


@every_window
def test_kept_log_probabilities_are_those_of_the_response_after_what_the_turn_saw(context: str, turns: int) -> None:
    model = talking_model()
    for trajectory in roll_out(lake_config(context, turns)):
        for turn in trajectory.turns:
            response = trajectory.ids[turn.response_start : turn.response_end]
            seen = trajectory.seen(turn)
            with torch.no_grad():
                logits = model(torch.tensor([seen + response])).logits[0, len(seen) - 1 : -1]
            expected = torch.log_softmax(logits, -1)[range(len(response)), response]
            kept = torch.tensor(trajectory.logprobs[turn.response_start : turn.response_end])
            torch.testing.assert_close(kept, expected, atol=1e-4, rtol=0)


@every_window
def test_the_learner_computes_what_the_sampler_computed(context: str, turns: int) -> None:
    batch = collate(roll_out(lake_config(context, turns)))
    with torch.no_grad():
        found, _ = logprobs_and_entropies(talking_model(), batch.ids, batch.mask, batch.contexts, temperature=1.0)
    torch.testing.assert_close(found, batch.logprobs, atol=1e-4, rtol=0)


@every_window
def test_every_sampled_token_is_marked_once_and_no_other_token_is(context: str, turns: int) -> None:
    for trajectory in roll_out(lake_config(context, turns)):
        responses = [t for turn in trajectory.turns for t in range(turn.response_start, turn.response_end)]
        assert [t for t, sampled in enumerate(trajectory.sampled) if sampled] == responses
        assert len(set(responses)) == len(responses)


@every_window
def test_the_gradient_is_that_of_the_turns_as_samples_of_their_own(context: str, turns: int) -> None:
    trajectories = roll_out(lake_config(context, turns))
    batch = collate(trajectories)
    together, separately = small_model(3), small_model(3)
    weights = torch.arange(1.0, len(batch) + 1)[:, None]  # a weight per trajectory, as advantages are
    found, _ = logprobs_and_entropies(together, batch.ids, batch.mask, batch.contexts, temperature=1.0)
    (found * weights).sum().backward()
    for weight, trajectory in enumerate(trajectories, start=1):
        for turn in trajectory.turns:
            seen, response = trajectory.seen(turn), trajectory.ids[turn.response_start : turn.response_end]
            logits = separately(torch.tensor([seen + response])).logits[0, len(seen) - 1 : -1]
            (weight * torch.log_softmax(logits, -1)[range(len(response)), response].sum()).backward()
    for one, other in zip(together.parameters(), separately.parameters(), strict=True):
        torch.testing.assert_close(one.grad, other.grad, atol=1e-3, rtol=1e-3)


@every_window
def test_the_critic_values_a_token_by_its_own_context(context: str, turns: int) -> None:
    trajectories = roll_out(lake_config(context, turns))
    critic = Critic(small_model(4).base_model, 32)
    torch.nn.init.normal_(critic.head.weight)
    batch = collate(trajectories)
    with torch.no_grad():
        values = critic(batch.ids, batch.mask, batch.contexts)
        for row, trajectory in enumerate(trajectories):
            for turn in trajectory.turns:
                alone = torch.tensor([trajectory.seen(turn) + trajectory.ids[turn.response_start : turn.response_end]])
                mask = torch.zeros(alone.shape)
                mask[0, len(trajectory.seen(turn)) :] = 1
                expected = critic(alone, mask, torch.zeros_like(alone))[mask.bool()]
                torch.testing.assert_close(
                    values[row, turn.response_start : turn.response_end], expected, atol=1e-4, rtol=0
                )


def test_the_last_turns_are_shown_word_for_word_and_no_earlier_one() -> None:
    lake = lake_config("last_k_turns", 2, rollout=PAIR, max_actions_per_turn=1)
    trajectory, _ = say(lake, [LEFT, RIGHT, LEFT, RIGHT])
    seen = [decoded(trajectory.seen(turn)) for turn in trajectory.turns]
    assert [text.count("<|im_start|>system") for text in seen] == [1, 1, 1, 1]
    assert [text.count("<answer>Left</answer><|im_end|>") for text in seen] == [0, 1, 0, 1]
    assert [text.count("<answer>Right</answer><|im_end|>") for text in seen] == [0, 0, 1, 0]
    # turns 1 and 2 fit into one context; turns 3 and 4 begin one each
    assert trajectory.context_starts == [0, trajectory.turns[2].prompt_start, trajectory.turns[3].prompt_start]
    third = trajectory.seen(trajectory.turns[2])
    second_response = trajectory.ids[trajectory.turns[1].response_start : trajectory.turns[1].response_end]
    index = next(i for i in range(len(third)) if third[i : i + len(second_response)] == second_response)
    assert not any(trajectory.sampled[trajectory.turns[2].context_start + i] for i in range(index, len(third)))


def test_responses_stay_in_a_window_as_the_ids_that_were_sampled() -> None:
    whole = f"{LEFT}<|im_end|>"
    letters = [token for letter in "go" for token in words().encode(letter)] + words().encode(whole)[1:]
    assert decoded(letters) == whole and words().encode(whole) != letters  # encoding it again would change it
    trajectory, _ = say(lake_config("last_k_turns", 2, rollout=PAIR), [letters])
    for turn in trajectory.turns[1:]:
        seen = trajectory.seen(turn)
        assert any(seen[start : start + len(letters)] == letters for start in range(len(seen)))


def test_a_window_as_long_as_the_episode_is_the_full_context() -> None:
    full, window = roll_out(lake_config("full")), roll_out(lake_config("last_k_turns", 4))
    assert [t.ids for t in window] == [t.ids for t in full]
    assert [t.context_starts for t in window] == [[0]] * len(full)


def test_a_summary_tells_states_actions_and_rewards_in_one_message() -> None:
    lake = lake_config(
        "single_turn_summary",
        2,
        rollout=PAIR,
        parameters={"size": 2, "frozen_probability": 1.0},
        max_actions_per_turn=1,
    )
    trajectory, _ = say(lake, [LEFT, "so it is", LEFT])
    first, second, third = (decoded(trajectory.seen(turn)).split("user\n")[1] for turn in trajectory.turns[:3])
    board = first.split("\n10 left")[0]
    tail = "<|im_end|>\n<|im_start|>assistant\n<think>"
    assert second == f"Before:\n{board}\nDone: Left. Reward 0\nNow:\n{board}\n9 left{tail}"
    # the first turn is out of the window of two, and a response that names no action is malformed
    assert third == f"Before:\n{board}\nDone: nothing. Not understood. Reward 0\nNow:\n{board}\n9 left{tail}"


@every_window
def test_the_first_prompt_is_the_same_under_every_window(context: str, turns: int) -> None:
    full = roll_out(lake_config("full"))
    for one, other in zip(roll_out(lake_config(context, turns)), full, strict=True):
        assert one.seen(one.turns[0]) == other.seen(other.turns[0])


@every_window
def test_records_show_each_turn_the_prompt_that_it_saw(context: str, turns: int) -> None:
    for trajectory in roll_out(lake_config(context, turns)):
        record = record_of(trajectory, step=1, split="train", piece=lambda token: decoded([token]))
        for turn in record["turns"]:
            given = record["tokens"]["ids"][turn["context_start"] : turn["response_start"]]
            assert decoded(given).endswith(turn["prompt"])
            if turn["prompt_start"] == turn["context_start"]:
                assert decoded(given) == turn["prompt"]
            assert not any(record["tokens"]["sampled"][turn["prompt_start"] : turn["response_start"]])
            assert all(record["tokens"]["sampled"][turn["response_start"] : turn["response_end"]])


def test_trajectories_are_counted_and_not_their_contexts() -> None:
    # member 0 has three contexts and returns 3, member 1 has one and returns 1: mean 2, unbiased std sqrt(2)
    batch = collate([by_hand(member=0, contexts=3), by_hand(member=1, contexts=1)])
    assert len(batch) == 2
    assert batch.returns.tolist() == [3.0, 1.0]
    advantages = grpo(batch.returns, batch.groups, batch.mask)
    assert advantages[0, 1::2].tolist() == pytest.approx([1 / 2**0.5] * 3, abs=1e-5)
    assert advantages[1, 1] == pytest.approx(-1 / 2**0.5, abs=1e-5)


def test_credit_goes_back_through_a_trajectory_and_across_its_contexts() -> None:
    batch = collate([by_hand(member=0, contexts=3)])
    rewards = torch.tensor([[0.0, 0.0, 0.0, 0.0, 0.0, 8.0]])
    advantages, _ = gae(rewards, torch.zeros_like(rewards), batch.mask, gamma=0.5, lam=1.0)
    # sampled tokens lie at 1, 3 and 5: 8, then 0.5 * 8, then 0.25 * 8
    assert advantages[0, 1::2].tolist() == [2.0, 4.0, 8.0]


def by_hand(*, member: int, contexts: int) -> Trajectory:
    """Contexts of one given and one sampled token; the return is their number."""
    trajectory = Trajectory(environment="", kind="", group=0, member=member, seed=0)
    for number in range(contexts):
        trajectory.begin_context()
        trajectory.append([number])
        trajectory.append([10 + number], logprobs=[-1.0], entropies=[1.0])
    lake = say(lake_config(rollout=PAIR), [LEFT])[0]
    lake.turns[0].reward = contexts
    lake.turns[0].response_start, lake.turns[0].response_end = len(trajectory.ids) - 1, len(trajectory.ids)
    trajectory.turns = lake.turns[:1]
    return trajectory


def test_contexts_are_split_into_rows_with_the_position_of_every_token() -> None:
    ids = torch.tensor([[1, 2, 3, 4, 5], [6, 7, 8, 0, 0]])
    contexts = torch.tensor([[0, 0, 1, 1, 1], [0, 1, 1, -1, -1]])
    rows, row, column = split_contexts(ids, contexts)
    assert rows.tolist() == [[1, 2, 0], [3, 4, 5], [6, 0, 0], [7, 8, 0]]
    assert row.tolist() == [[0, 0, 1, 1, 1], [2, 3, 3, 0, 0]]
    assert column.tolist() == [[0, 1, 0, 1, 2], [0, 0, 1, 0, 0]]


def test_the_limit_is_on_what_the_model_sees_at_once() -> None:
    limit = {**PAIR, "max_context_tokens": 200}
    full, _ = say(lake_config("full", rollout=limit), [LEFT])
    window, _ = say(lake_config("last_k_turns", 1, rollout=limit), [LEFT])
    assert (full.stop, window.stop) == ("context_full", "max_turns")
    assert len(window.ids) > 200 > max(len(window.seen(turn)) for turn in window.turns)


@pytest.mark.parametrize(
    ("context", "field", "why"),
    [
        ({"type": "full", "turns": 3}, "turns", "unknown field"),
        ({"type": "last_k_turns", "turns": 0}, "turns", "1 or more"),
        ({"type": "all"}, "type", "Use one of full, last_k_turns, single_turn_summary"),
    ],
)
def test_a_window_has_only_the_settings_that_it_reads(context: dict[str, object], field: str, why: str) -> None:
    with pytest.raises(ConfigError, match=rf"rollout\.context\.{field}: .*{why}"):
        build_config({"rollout": {"context": context}})
