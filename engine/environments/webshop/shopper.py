"""Players of WebShop that use nothing but what its pages show.

The scripted one extends the rule baseline of the WebShop paper (arXiv 2207.01206), which searches for the instruction
and buys the first result: it also chooses the options that the instruction names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.environments.webshop.pages import BACK, BUY, PREVIOUS, Element, Page
from engine.environments.webshop.text import STOP_WORDS, words

PRICE_CLAUSE = ", and price lower than "


def scripted_action(page: Page, shown: Sequence[Element], instruction: str, searches: int) -> str:
    """The rule's next action. A further search, which only an empty result leads to, drops the first words."""
    if page.kind == "search":
        wanted = query_words(instruction)
        return f"search[{' '.join(wanted[searches % len(wanted) :])}]" if wanted else f"search[{instruction}]"
    if page.kind == "results":
        products = [element.label for element in shown if element.kind == "product"]
        return _click(products[0] if products else BACK)
    if page.kind == "item":
        return _click(_named_option(page, shown, instruction) or BUY)
    return _click(PREVIOUS)


def random_action(labels: Sequence[str], can_search: bool, instruction: str, rng: np.random.Generator) -> str:
    """Any click of the page, or a search for up to four words of the instruction."""
    index = int(rng.integers(len(labels) + can_search))
    if index < len(labels):
        return _click(labels[index])
    wanted = query_words(instruction) or [instruction]
    count = min(len(wanted), 1 + int(rng.integers(4)))
    picked = sorted(int(i) for i in rng.choice(len(wanted), size=count, replace=False))
    return f"search[{' '.join(wanted[i] for i in picked)}]"


def query_words(instruction: str) -> list[str]:
    """The words of an instruction that say something of the product, without those of its price."""
    return [word for word in words(instruction.split(PRICE_CLAUSE)[0]) if word not in STOP_WORDS]


def _named_option(page: Page, shown: Sequence[Element], instruction: str) -> str:
    """The label of the longest value that the instruction names, of the first group with such a value and no choice."""
    decided = {group for group, _ in page.options}
    named = f" {' '.join(words(instruction))} "
    fitting: dict[str, list[tuple[int, str]]] = {}
    for element in shown:
        if element.kind == "option" and element.leads_to and not element.chosen:
            group, value = element.leads_to.options[-1]
            spelled = " ".join(words(value))
            if group not in decided and spelled and f" {spelled} " in named:
                fitting.setdefault(group, []).append((len(spelled), element.label))
    return max(next(iter(fitting.values())))[1] if fitting else ""


def _click(label: str) -> str:
    return f"click[{label.lower()}]"
