"""The pages of the shop: what each shows, and where each click on it leads.

A page is a list of elements; text, legal actions and drawing are all made of that list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Literal

from engine.environments.webshop.goals import Goal
from engine.environments.webshop.products import Product
from engine.environments.webshop.reward import Score
from engine.environments.webshop.shop import Shop

SHOP = "WebShop"
BACK, PREVIOUS, NEXT, BUY = "Back to Search", "< Prev", "Next >", "Buy Now"
SUB_PAGES = ("Description", "Features", "Reviews")
ATTRIBUTES = "Attributes"
SEPARATOR = " [SEP] "


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Where the shopper is. `keywords` and `number` are of the results that the item was opened from."""

    kind: Literal["search", "results", "item", "sub_page", "done"] = "search"
    keywords: str = ""
    number: int = 1
    asin: str = ""
    options: tuple[tuple[str, str], ...] = ()  # group and value, in the order of their choice
    sub_page: str = ""

    def with_option(self, group: str, value: str) -> Page:
        kept = tuple(chosen for chosen in self.options if chosen[0] != group)
        return self if (group, value) in self.options else replace(self, options=(*kept, (group, value)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Element:
    """A piece of a page. What can be clicked has the page that the click leads to, and a label to name it by."""

    text: str
    kind: Literal["heading", "text", "button", "option", "product"] = "text"
    leads_to: Page | None = None
    label: str = ""
    chosen: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """All that a page depends on."""

    shop: Shop
    goal: Goal
    per_page: int
    show_attributes: bool
    opened: Collection[str]  # asins
    score: Score | None = None  # of the purchase


def elements(page: Page, visit: Visit) -> list[Element]:
    builders = {"search": _search, "results": _results, "item": _item, "sub_page": _sub_page, "done": _done}
    return list(builders[page.kind](page, visit))


def clicks(shown: list[Element]) -> dict[str, Page]:
    """Where each label of the page leads, in the order of the page."""
    return {element.label: element.leads_to for element in shown if element.leads_to is not None}


def plain_text(shown: list[Element]) -> str:
    """WebShop's observation mode `text`: all visible text, with separators."""
    return SEPARATOR.join(element.text for element in shown)


def rich_text(shown: list[Element]) -> str:
    """WebShop's observation mode `text_rich`: one line each, with marks around what can be clicked."""
    lines = [f"You have clicked {element.text}." for element in shown if element.chosen and element.kind == "option"]
    for element in shown:
        mark = "clicked button" if element.chosen else "button"
        lines.append(element.text if element.kind in ("heading", "text") else f"[{mark}] {element.text} [{mark}_]")
    return "\n".join(lines)


def _search(page: Page, visit: Visit) -> Iterator[Element]:
    yield Element(text=SHOP, kind="heading")
    yield from _instruction(visit)
    yield Element(text="Search", kind="button")  # the search bar's; to search is an action of its own


def _results(page: Page, visit: Visit) -> Iterator[Element]:
    found = visit.shop.search(page.keywords)
    first = (page.number - 1) * visit.per_page
    yield from _instruction(visit)
    yield _button(BACK, Page())
    yield Element(text=f"Page {page.number} (Total results: {len(found)})", kind="heading")
    if page.number > 1:
        yield _button(PREVIOUS, replace(page, number=page.number - 1))
    if first + visit.per_page < len(found):
        yield _button(NEXT, replace(page, number=page.number + 1))
    for product in found[first : first + visit.per_page]:
        yield Element(
            text=product.asin,
            kind="product",
            leads_to=replace(page, kind="item", asin=product.asin),
            label=product.asin.lower(),
            chosen=product.asin in visit.opened,
        )
        yield Element(text=product.name)
        yield Element(text=product.price_label)


def _item(page: Page, visit: Visit) -> Iterator[Element]:
    product = visit.shop.by_asin[page.asin]
    sub_pages = (*SUB_PAGES, ATTRIBUTES) if visit.show_attributes else SUB_PAGES
    buttons = [BACK, PREVIOUS, *sub_pages, BUY]
    yield from _instruction(visit)
    yield _button(BACK, Page())
    yield _button(PREVIOUS, Page(kind="results", keywords=page.keywords, number=page.number))
    yield from _options(page, product, taken=[button.lower() for button in buttons])
    yield Element(text=product.name, kind="heading")
    yield Element(text=f"Price: {product.price_label}")
    yield Element(text="Rating: N.A.")
    for name in sub_pages:
        yield _button(name, replace(page, kind="sub_page", sub_page=name))
    yield _button(BUY, replace(page, kind="done"))


def _options(page: Page, product: Product, *, taken: list[str]) -> Iterator[Element]:
    """Each group's name and values. A value that another group or a button has too is addressed with its group."""
    counts = Counter([*taken, *(value for values in product.options.values() for value in values)])
    for group, values in product.options.items():
        yield Element(text=group)
        for value in values:
            yield Element(
                text=value,
                kind="option",
                leads_to=page.with_option(group, value),
                label=folded(value if counts[value] == 1 else f"{group}: {value}"),
                chosen=(group, value) in page.options,
            )


def _sub_page(page: Page, visit: Visit) -> Iterator[Element]:
    product = visit.shop.by_asin[page.asin]
    contents = {
        "Description": [product.description],
        "Features": list(product.bullet_points),
        "Reviews": [],
        ATTRIBUTES: [*product.attributes, product.category, product.query, product.product_category],
    }
    yield from _instruction(visit)
    yield _button(BACK, Page())
    yield _button(PREVIOUS, replace(page, kind="item", sub_page=""))
    for text in contents[page.sub_page]:
        if text:
            yield Element(text=text)


def _done(page: Page, visit: Visit) -> Iterator[Element]:
    """What was bought and its score; nothing of the goal."""
    product = visit.shop.by_asin[page.asin]
    yield Element(text="Thank you for shopping with us!", kind="heading")
    yield Element(text=f"You bought {product.name}")
    for group, value in page.options:
        yield Element(text=f"{group}: {value}")
    if visit.score is not None:
        yield Element(text=f"Your score: {visit.score.total:.2f}")


def _instruction(visit: Visit) -> Iterator[Element]:
    yield Element(text="Instruction:", kind="heading")
    yield Element(text=visit.goal.text)


def folded(text: str) -> str:
    """Lower case and single spaces, as labels are compared."""
    return " ".join(text.lower().split())


def _button(text: str, leads_to: Page) -> Element:
    return Element(text=text, kind="button", leads_to=leads_to, label=text.lower())
