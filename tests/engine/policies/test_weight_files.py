"""Tensors are written as they come, in files of bounded size, and read by rows."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

from engine.policies.weight_files import stored_tensors, write_tensors, written_files
from tests.engine.models import small_model


def test_a_file_is_closed_once_it_has_its_bytes_and_an_index_names_the_files(tmp_path: Path) -> None:
    # 6 x 4 float32 are 96 bytes: two reach 192 of 150, the third is left over
    tensors = {name: torch.randn(6, 4) for name in "abc"}
    write_tensors(tmp_path, "model", tensors.items(), most=150)
    first, second = written_files(tmp_path, "model")
    assert (first.name, second.name) == ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())["weight_map"]
    assert index == {"a": first.name, "b": first.name, "c": second.name}
    stored = stored_tensors([first, second])
    assert stored["c"].shape == (6, 4)
    assert torch.equal(stored["c"][2:5], tensors["c"][2:5])
    assert torch.equal(stored["b"][:], tensors["b"])


def test_a_model_in_parts_is_one_that_transformers_reads(tmp_path: Path) -> None:
    model = small_model()
    write_tensors(tmp_path, "model", model.named_parameters(), most=20_000)
    assert len(written_files(tmp_path, "model")) > 1
    model.config.save_pretrained(tmp_path)
    read = AutoModelForCausalLM.from_pretrained(tmp_path)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(model.parameters(), read.parameters(), strict=True))


def test_no_tensors_leave_no_files(tmp_path: Path) -> None:
    write_tensors(tmp_path, "none", iter(()))
    assert written_files(tmp_path, "none") == []


def test_a_number_alone_is_read_too(tmp_path: Path) -> None:
    write_tensors(tmp_path, "model", [("scale", torch.tensor(3.0))])
    assert float(stored_tensors(written_files(tmp_path, "model"))["scale"][:]) == 3.0
