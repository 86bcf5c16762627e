"""How many bytes of tensors a computation holds at its peak."""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class PeakBytes(TorchDispatchMode):
    """The most bytes that lay at once in tensors made within it; `known` were there before."""

    def __init__(self, known: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self.sizes = {tensor.untyped_storage()._cdata: 0 for tensor in known}
        self.held = self.bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for one in tree_leaves(made):
            if isinstance(one, Tensor) and (storage := one.untyped_storage())._cdata not in self.sizes:
                self.sizes[storage._cdata] = storage.nbytes()
                self.held += storage.nbytes()
                self.bytes = max(self.bytes, self.held)
                weakref.finalize(storage, self._released, storage._cdata)
        return made

    def _released(self, pointer: int) -> None:
        self.held -= self.sizes.pop(pointer, 0)
