"""A key-value cache whose rows have lengths of their own, so that each trajectory moves at its own pace.

`update` is what a Hugging Face attention layer calls. Where it writes is set before each forward pass.
"""

from __future__ import annotations

import torch
from torch import Tensor

GROWTH = 128  # columns added at a time


class RaggedCache:
    """Keys and values of `rows` sequences, per layer `(rows, heads, columns, head size)`."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self._slots: Tensor | None = None
        self._active = 0
        self._positions = torch.empty(0, dtype=torch.long)
        self._width = 0

    def aim(self, *, positions: Tensor, width: int, slots: Tensor | None = None, active: int = 0) -> None:
        """The next forward pass writes at `positions` (N, Q) and reads the first `width` columns.

        It concerns the rows `slots` (N,), or without them the first `active` rows, which are read without a copy.
        """
        self._positions, self._width, self._slots, self._active = positions, width, slots, active

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Stores keys and values `(N, heads, Q, head size)`; returns those of all columns so far."""
        if layer == len(self.keys):
            self.keys.append(self._room(keys, None))
            self.values.append(self._room(values, None))
        if self.keys[layer].shape[2] < self._width:
            self.keys[layer] = self._room(keys, self.keys[layer])
            self.values[layer] = self._room(values, self.values[layer])
        return self._store(self.keys[layer], keys), self._store(self.values[layer], values)

    def copy_row(self, source: int, target: int) -> None:
        for store in (*self.keys, *self.values):
            store[target] = store[source]

    def copy_rows(self, sources: Tensor, targets: Tensor) -> None:
        for store in (*self.keys, *self.values):
            store[targets] = store[sources]

    def get_seq_length(self, layer: int = 0) -> int:
        return self._width

    def _store(self, store: Tensor, new: Tensor) -> Tensor:
        slots = torch.arange(self._active, device=new.device) if self._slots is None else self._slots
        # advanced indices around a slice put their axes first: (N, Q, heads, size)
        store[slots[:, None], :, self._positions] = new.transpose(1, 2)
        read = store[: self._active] if self._slots is None else store[self._slots]
        return read[:, :, : self._width]

    def _room(self, like: Tensor, old: Tensor | None) -> Tensor:
        columns = -(-self._width // GROWTH) * GROWTH
        store = like.new_zeros((self.rows, like.shape[1], columns, like.shape[3]))
        if old is not None:
            store[:, :, : old.shape[2]] = old
        return store
