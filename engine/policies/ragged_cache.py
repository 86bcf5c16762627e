"""A key-value cache whose rows have different lengths, so that each trajectory advances independently.

In bfloat16 it holds keys as attention under autocast would round them at each use: rotated keys come in float32.
Hugging Face attention layers call `update`; `prepare` sets beforehand where it writes.
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.config.sampling import CACHE_COLUMNS


class RaggedCache:
    """Keys and values of `rows` sequences, per layer `(rows, heads, columns, head size)`."""

    def __init__(self, rows: int, *, dtype: torch.dtype = torch.float32) -> None:
        self.rows, self.dtype = rows, dtype
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self._slots: Tensor | None = None
        self._active = 0
        self._positions = torch.empty(0, dtype=torch.long)
        self._width = 0

    def prepare(self, *, positions: Tensor, width: int, slots: Tensor | None = None, active: int = 0) -> None:
        """Sets where the next forward pass writes, `positions` (N, Q), and how many columns it reads, `width`.

        It applies to the rows `slots` (N,), or without them to the first `active` rows, which need no copy.
        """
        self._positions, self._width, self._slots, self._active = positions, width, slots, active

    def update(self, keys: Tensor, values: Tensor, layer: int, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Stores keys and values `(N, heads, Q, head size)`; returns those of all columns so far."""
        if layer == len(self.keys):
            self.keys.append(self._allocate(keys, None))
            self.values.append(self._allocate(values, None))
        if self.keys[layer].shape[2] < self._width:
            self.keys[layer] = self._allocate(keys, self.keys[layer])
            self.values[layer] = self._allocate(values, self.values[layer])
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
        # advanced indices around a slice come first in the result: (N, Q, heads, size)
        store[slots[:, None], :, self._positions] = new.transpose(1, 2).to(self.dtype)
        read = store[: self._active] if self._slots is None else store[self._slots]
        return read[:, :, : self._width]

    def _allocate(self, like: Tensor, old: Tensor | None) -> Tensor:
        columns = -(-self._width // CACHE_COLUMNS) * CACHE_COLUMNS
        store = like.new_zeros((self.rows, like.shape[1], columns, like.shape[3]), dtype=self.dtype)
        if old is not None:
            store[:, :, : old.shape[2]] = old
        return store
