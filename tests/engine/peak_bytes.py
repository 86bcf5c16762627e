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


class PeakOfResized(TorchDispatchMode):
    """The same where FSDP2 frees and resizes storages that it made before: of all that are used within it."""

    def __init__(self, known: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self.known = {tensor.untyped_storage()._cdata for tensor in known}
        self.storages: dict[int, weakref.ref[Any]] = {}
        self.bytes = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = function(*args, **(kwargs or {}))
        for one in tree_leaves([args, kwargs, made]):
            if isinstance(one, Tensor):
                self._add(getattr(one, "_local_tensor", one).untyped_storage())
        sizes = (reference() for reference in list(self.storages.values()))
        self.bytes = max(self.bytes, sum(storage.nbytes() for storage in sizes if storage is not None))
        return made

    def _add(self, storage: Any) -> None:
        if storage._cdata not in self.known and storage._cdata not in self.storages:
            self.storages[storage._cdata] = weakref.ref(storage)
            weakref.finalize(storage, self.storages.pop, storage._cdata, None)
