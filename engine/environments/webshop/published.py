"""WebShop's published files, from a directory of the user's.

`items_shuffle.json` (5.5 GB, 1.18 million products) or `items_shuffle_1000.json`, `items_ins_v2.json` or
`items_ins_v2_1000.json` with attributes and synthetic instructions, and `items_human_ins.json`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from engine.environments.webshop.goals import HumanInstructions, human_instructions
from engine.environments.webshop.json_stream import JsonStream
from engine.environments.webshop.products import Product, is_kept, product_from
from engine.errors import ConfigError

LARGEST_UNLIMITED = 500_000_000  # bytes of a catalogue that is read as a whole
SMALL = 1000  # products of the small files


def read_published(directory: Path, num_products: int) -> tuple[list[Product], HumanInstructions]:
    """The first `num_products` records (0: all) as products, and the human instructions for them.

    As in WebShop, records that are dropped count as records.
    """
    catalogue = find(directory, "items_shuffle", num_products)
    if not num_products and catalogue.stat().st_size > LARGEST_UNLIMITED:
        raise ConfigError(
            f"{catalogue.name} has {catalogue.stat().st_size / 1e9:.1f} GB; all its products would take several "
            "gigabytes of memory in each process that plays.",
            remedy="Set num_products, for example to 100000, or use items_shuffle_1000.json.",
        )
    try:
        records = _records(catalogue, num_products)
        asins = set(records)
        attributes = _entries(find(directory, "items_ins_v2", num_products), asins)
        products = [product_from(record, attributes.get(asin, {})) for asin, record in records.items()]
        human_file = directory / "items_human_ins.json"
        human = _entries(human_file, asins) if human_file.exists() else {}
        return products, human_instructions(human)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(
            f"The WebShop files in {directory} cannot be read: {type(error).__name__}: {error}.",
            remedy="Download them again; they must be the unchanged files that WebShop publishes.",
        ) from error


def find(directory: Path, stem: str, num_products: int) -> Path:
    """The full file or the one of 1000 products; of both, the small one if it has as many as are wanted."""
    found = [directory / f"{stem}.json", directory / f"{stem}_{SMALL}.json"]
    if 0 < num_products <= SMALL:
        found.reverse()
    for path in found:
        if path.is_file():
            return path
    raise ConfigError(
        f"There is no {found[0].name} or {found[1].name} in {directory}.",
        remedy="Give the directory that WebShop's setup.sh downloads to, or leave it blank for the shipped catalogue.",
    )


def _records(catalogue: Path, num_products: int) -> dict[str, Mapping[str, Any]]:
    """By asin; of several with one asin the first."""
    records: dict[str, Mapping[str, Any]] = {}
    for record in islice(JsonStream(catalogue).elements(), num_products or None):
        if is_kept(record):
            records.setdefault(str(record["asin"]), record)
    return records


def _entries(path: Path, asins: set[str]) -> dict[str, Any]:
    found: Iterator[tuple[str, Any]] = JsonStream(path).items()
    return {asin: entry for asin, entry in found if asin in asins}
