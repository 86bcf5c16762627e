import torch

from engine.config import OptimizerConfig
from engine.training.forward_size import tokens_per_pass


def test_a_given_number_of_tokens_is_taken_on_any_device() -> None:
    given = OptimizerConfig(micro_batch_tokens=700)
    assert tokens_per_pass(given, torch.device("cpu")) == tokens_per_pass(given, torch.device("cuda", 0)) == 700


def test_left_open_a_gpu_takes_more_tokens_at_once_than_a_cpu() -> None:
    left_open = OptimizerConfig()
    assert tokens_per_pass(left_open, torch.device("cpu")) == 2048
    assert tokens_per_pass(left_open, torch.device("cuda", 0)) == 16384
