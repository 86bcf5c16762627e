"""The shop: products, search index and goals. Built when first used, then shared by all environments of the process."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import random
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Literal

import numpy as np

from engine.environments.base import Split
from engine.environments.webshop.goals import Goal, GoalKind, GoalList, Goals, HumanInstructions, human_instructions
from engine.environments.webshop.products import Product, product_from
from engine.environments.webshop.published import read_published
from engine.environments.webshop.search_index import SearchIndex
from engine.errors import ConfigError

SHIPPED = Path(__file__).parent / "data" / "catalogue.json.gz"
HITS = 50  # that a search returns at most
HELD_OUT_EVERY = 5  # one product of this many
SHUFFLE_SEED = 233  # of WebShop's order of goals
PUBLISHED_TEST = 500  # goals; WebShop's development goals follow them
PUBLISHED_TRAIN_FROM = 1500
MOST_PRODUCTS = 100_000  # of all shops in memory, about 0.5 GB; the shop used last is kept whatever its size

GoalSplit = Literal["product", "published"]


class Shop:
    """Products by position and by asin, what a search finds, and the goals of each split."""

    def __init__(self, products: Sequence[Product], human: HumanInstructions) -> None:
        self.products = products
        self.human = human
        self.by_asin = {product.asin: product for product in products}
        self._lock = Lock()
        self._index: SearchIndex | None = None
        self.search = lru_cache(maxsize=4096)(self._search)
        self._goals: dict[tuple[GoalKind, GoalSplit, Split], GoalList] = {}

    def _search(self, keywords: str) -> tuple[Product, ...]:
        """The best 50 products for the keywords."""
        with self._lock:
            if self._index is None:
                self._index = SearchIndex(product.document for product in self.products)
        return tuple(self.products[position] for position in self._index.search(keywords, HITS))

    def goals(self, kind: GoalKind, by: GoalSplit, split: Split) -> GoalList:
        """The goals of a split; `ConfigError` if there are none."""
        with self._lock:
            key = (kind, by, split)
            if key not in self._goals:
                make = self._split_by_product if by == "product" else self._split_as_published
                self._goals[key] = make(kind, split)
            return self._goals[key]

    def _split_by_product(self, kind: GoalKind, split: Split) -> GoalList:
        """The goals of the products of a split, so that the splits share neither a goal nor the product of one."""
        goals = Goals([product for product in self.products if product_split(product) == split], kind, self.human)
        if not len(goals):
            raise ConfigError(
                f"The {len(self.products)} products have no {kind} goals for {split.replace('_', '-')} episodes.",
                remedy="Set num_products higher, or goals to the other kind.",
            )
        return goals

    def _split_as_published(self, kind: GoalKind, split: Split) -> GoalList:
        """WebShop's own: of all goals in its shuffled order, the first 500 are for tests, those from 1500 to train on.
        The order of human goals is exactly WebShop's."""
        goals = Goals(self.products, kind, self.human)
        if len(goals) <= PUBLISHED_TRAIN_FROM:
            raise ConfigError(
                f"There are {len(goals)} {kind} goals, and the published split trains on those from number "
                f"{PUBLISHED_TRAIN_FROM} on.",
                remedy="Set goal_split to product.",
            )
        order = list(range(len(goals)))
        random.Random(SHUFFLE_SEED).shuffle(order)
        return _Picked(goals, order[:PUBLISHED_TEST] if split == "held_out" else order[PUBLISHED_TRAIN_FROM:])


class _Picked:
    """Some of the goals, in an order of their own."""

    def __init__(self, goals: Goals, order: Sequence[int]) -> None:
        self.goals = goals
        self.order = np.array(order, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.order)

    def __getitem__(self, index: int, /) -> Goal:
        return self.goals[int(self.order[index])]


def product_split(product: Product) -> Split:
    """By a hash of the synthetic instruction, as products that share it have goals with the same text."""
    key = int.from_bytes(hashlib.sha256(f"split {product.instruction or product.asin}".encode()).digest()[:8])
    return "held_out" if key % HELD_OUT_EVERY == 0 else "train"


def shop_at(directory: str, num_products: int) -> Shop:
    """The shop of a directory with WebShop's published files, or the one that ships; 0 products are all."""
    key = (directory, num_products)
    with _lock:
        if key not in _shops:
            read = read_published(Path(directory).expanduser(), num_products) if directory else read_shipped()
            _shops[key] = Shop(read[0][: num_products or None], read[1])
            while len(_shops) > 1 and sum(len(shop.products) for shop in _shops.values()) > MOST_PRODUCTS:
                _shops.popitem(last=False)
        _shops.move_to_end(key)
        return _shops[key]


def read_shipped() -> tuple[list[Product], HumanInstructions]:
    """The catalogue of `generate`, which has the three published formats in one file."""
    with gzip.open(SHIPPED, "rt", encoding="utf-8") as file:
        data = json.load(file)
    products = [product_from(record, data["attributes"][record["asin"]]) for record in data["products"]]
    return products, human_instructions(data["human"])


_lock = Lock()
_shops: OrderedDict[tuple[str, int], Shop] = OrderedDict()


def _forget() -> None:
    """A forked process must not use the connections of its parent, nor wait for a lock that another thread held."""
    global _lock
    _lock = Lock()
    _shops.clear()


os.register_at_fork(after_in_child=_forget)
