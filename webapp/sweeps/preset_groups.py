"""The sweeps that ship, as pages list them: those of the papers, experiments of our own, and those that need GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.sweeps.catalogue import SweepPreset, listed


@dataclass(frozen=True, slots=True, kw_only=True)
class PresetGroup:
    title: str
    help: str
    presets: Sequence[tuple[str, SweepPreset]]
    holds_chosen: bool

    @property
    def is_large(self) -> bool:
        return all(preset.size == "full" for _, preset in self.presets)


def preset_groups(chosen: SweepPreset | None = None) -> list[PresetGroup]:
    """`chosen` is the sweep that a form began with; without one the first group counts as holding it."""
    papers = "From RAGEN and RAGEN v2, at a size for two CPU cores."
    own = "What the papers leave open at this size: collapses by a high learning rate, gradients, sparse rewards."
    large = "The sweeps of the papers with their models, batches and steps. They need GPUs."
    found = [
        ("Sweeps of the papers", papers, listed("papers")),
        ("Our experiments", own, listed("experiments")),
        ("Full size, on GPUs", large, listed("papers", "full")),
    ]
    return [
        PresetGroup(
            title=title,
            help=text,
            presets=[*presets.items()],
            holds_chosen=chosen in presets.values() if chosen is not None else index == 0,
        )
        for index, (title, text, presets) in enumerate(found)
    ]
