"""WebShop: shopping by search and clicks. Reward: 1 for a purchase that has all the instruction asks for, else 0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from engine.environments.base import (
    Drawing,
    Environment,
    EnvironmentParameters,
    Info,
    Reduction,
    server_file,
    split_of,
    step_info,
)
from engine.environments.spaces import AnyText
from engine.environments.webshop import shopper
from engine.environments.webshop.goals import Goal, GoalKind
from engine.environments.webshop.pages import (
    SHOP,
    Element,
    Page,
    Visit,
    clicks,
    elements,
    folded,
    plain_text,
    rich_text,
)
from engine.environments.webshop.reward import Score, score
from engine.environments.webshop.shop import GoalSplit, Shop, shop_at

LONGEST_QUERY = 300  # characters


class WebShopParameters(EnvironmentParameters):
    directory: str = server_file("Directory with WebShop's published JSON files. Blank: the bundled catalogue.")
    num_products: int = Field(
        0, ge=0, le=2_000_000, description="Products in the shop, the first of the catalogue. Fewer is easier. 0: all."
    )
    goals: GoalKind = Field(
        "synthetic",
        description="Instructions: synthetic lists one value of each option of a product; human reads like a person's.",
    )
    goal_split: GoalSplit = Field(
        "product",
        description="What is held out for evaluation. product: the goals of a fifth of the products. published, for "
        "the published files: the 500 test goals of the WebShop paper, whose products training may see.",
    )
    reward: Literal["binary", "graded"] = Field(
        "binary", description="Reward of a purchase: 1 if its score is 1, else 0; or the score itself, 0 to 1."
    )
    observation: Literal["text", "text_rich"] = Field(
        "text", description="Pages as text with [SEP], or one line per element with marks around buttons."
    )
    list_actions: bool = Field(True, description="Whether each observation ends with the list of legal actions.")
    results_per_page: int = Field(10, ge=1, le=50, description="Products on a page of results. Fewer is shorter.")
    search_anywhere: bool = Field(False, description="Whether search works on every page, not only on the search page.")
    show_attributes: bool = Field(
        False, description="Whether items have a page with the attributes that the reward compares. It is a hint."
    )

    @model_validator(mode="after")
    def _check_directory(self) -> WebShopParameters:
        if self.directory and not Path(self.directory).expanduser().is_dir():
            raise ValueError(
                f"directory {self.directory} is not a directory on this machine. Leave it blank or fix it."
            )
        if self.goal_split == "published" and not self.directory:
            raise ValueError("goal_split is published, and the shipped catalogue has no such split. Use product.")
        return self


class WebShop(Environment):
    """A shop of text pages, and an instruction what to buy (arXiv 2207.01206).

    Description: The instruction names a kind of product, attributes, option values and a price. The catalogue that
        ships is generated (`generate`): 1600 products of 80 types, brands invented.
    Actions: Free text. `search[keywords]` on the search page; `click[label]` for what the page shows: buttons, products
        by their asin, option values. A value that two option groups share is `click[group: value]`. Case is ignored.
        Anything else is invalid and changes nothing.
    Observations: The text of the page; the chosen options; the list of legal actions.
    Starting state: The search page. The seed draws the goal among those of the split.
    Rewards: 0, until `click[buy now]` earns 1 if the purchase's score is 1, else 0; or the score itself. The score is
        the share of the goal's attributes, options and price that the purchase meets, times a factor for its type
        (`reward`).
    Episode end: The purchase.
    Arguments: See `WebShopParameters`. The published files are read where `directory` has them.
    Differences from RAGEN: Goals are split by product, so training never sees a product of an evaluation; RAGEN's
        `seed % (goals - 1500) + 1500` fails for catalogues with few goals. Price bounds and prices of ranges depend on
        the product alone; WebShop draws them from unseeded randomness. Nouns of titles are all their words but stop
        words; spaCy is not needed, and scores are not comparable where titles decide. BM25 of SQLite (k1 1.2, b 0.75,
        Porter stems) in place of Lucene's (0.9, 0.4), so results differ in order. `search` is legal on the search page
        alone, `Next >` is shown only where there is a next page, prices have two decimals, chosen options are listed,
        a value counts once in its group, labels may have brackets, and the last page does not show the goal. RAGEN
        repeats nine hints in every observation; here the system prompt has three of that kind. An action is effective
        if it changes the page or the choice; RAGEN compares texts, which hide the choice. No weights of goals,
        `filter_goals` or `limit_goals`, and none of the search prefixes (`<r>`, `<a>`, `<c>`, `<q>`).
    """

    kind: ClassVar[str] = "webshop"
    title: ClassVar[str] = "WebShop"
    summary: ClassVar[str] = "Find and buy the product that an instruction describes, in a shop of text pages."
    Config = WebShopParameters
    default_instruction: ClassVar[str] = (
        "You are shopping in a web shop. Buy a product that has everything the instruction asks for."
    )
    default_budget: ClassVar[dict[str, int]] = {
        "max_turns": 9,
        "max_actions_per_turn": 1,
        "max_actions": 9,
        "max_response_tokens": 200,
    }
    split_by = "own"
    info_metrics: ClassVar[Mapping[str, Reduction]] = {
        "raw_reward": "last",
        "purchased": "last",
        "found": "last",
        "type_score": "last",
        "attribute_score": "last",
        "option_score": "last",
        "price_score": "last",
    }
    examples: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "WebShop": {},
        "WebShopFull": {"max_turns": 15, "max_actions": 15},
        "WebShop human goals": {"parameters": {"goals": "human", "reward": "graded"}},
        "WebShop small": {"parameters": {"num_products": 100, "results_per_page": 4, "reward": "graded"}},
    }
    config: WebShopParameters

    def __init__(self, config: WebShopParameters) -> None:
        super().__init__(config)
        self.action_space = AnyText()
        self.observation_space = AnyText(min_length=1)
        self.page = Page()
        self.shown: list[Element] = []
        self.clicks: dict[str, Page] = {}
        self.opened: set[str] = set()
        self.searches = 0
        self.score: Score | None = None
        self._drawn: Goal | None = None
        self.over = True

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, Info]:
        """`seed` draws the goal among those of `options["split"]`; nothing else is random."""
        seed = self.seeded(seed)
        goals = self.shop.goals(self.config.goals, self.config.goal_split, split_of(options))
        self._drawn = goals[int(np.random.default_rng([seed, 1]).integers(len(goals)))]
        self.page = Page()
        self.opened = set()
        self.searches = 0
        self.score = None
        self.over = False
        self._show()
        return self.render(), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, Info]:
        action = self.checked_text(action, over=self.over)
        before = self.page
        following = self._following(action)
        if following is not None:
            self._enter(following)
        raw = self.score.total if self.score else 0.0
        reward = raw if self.config.reward == "graded" else float(raw >= 1)
        info = step_info(
            valid=following is not None,
            effective=self.page != before,
            success=raw >= 1,
            raw_reward=raw,
            purchased=float(self.over),
            found=float(self.goal.asin in self.opened),
            type_score=self.score.type.factor if self.score else 0.0,
            attribute_score=self.score.attributes if self.score else 0.0,
            option_score=self.score.options if self.score else 0.0,
            price_score=self.score.price if self.score else 0.0,
        )
        return self.render(), reward, self.over, False, info

    @property
    def shop(self) -> Shop:
        return shop_at(self.config.directory, self.config.num_products)

    @property
    def goal(self) -> Goal:
        if self._drawn is None:
            raise RuntimeError("There is no goal yet; call reset first.")
        return self._drawn

    @property
    def can_search(self) -> bool:
        return self.page.kind == "search" or (self.config.search_anywhere and self.page.kind != "done")

    def legal_actions(self) -> list[str]:
        """As the observation lists them; the search stands for one with any keywords."""
        listed = [f"click[{label}]" for label in self.clicks]
        return ["search[<keywords>]", *listed] if self.can_search else listed

    def action_names(self) -> None:
        return None

    def suggestions(self) -> list[str]:
        return [] if self.over else ["search[]"] * self.can_search + [f"click[{label}]" for label in self.clicks]

    def describe(self) -> str:
        where = "on any page" if self.config.search_anywhere else "on the search page"
        return "\n".join(
            [
                f"Actions: search[<keywords>] {where}, and click[<label>] for a button, product or option of the page.",
                "Example: search[red running shoes]",
                "Search for the kind of product and its properties; choose options, such as size and color, on the "
                "product's page.",
                "Choose the options that the instruction names before click[buy now], which ends the episode.",
                "Buy before your actions run out: a purchase that is nearly right is better than none.",
            ]
        )

    def render(self) -> str:
        text = (plain_text if self.config.observation == "text" else rich_text)(self.shown)
        lines = [text]
        if self.page.options and self.page.kind in ("item", "sub_page"):
            lines += [f"Chosen options: {', '.join(f'{group}: {value}' for group, value in self.page.options)}"]
        if self.config.list_actions and not self.over:
            lines += [f"Legal actions: {', '.join(self.legal_actions())}"]
        return "\n".join(lines)

    def drawing(self) -> Drawing:
        """The page below the shop's name, which the search page begins with too."""
        shown = [_block(element) for element in self.shown if element.text != SHOP or element.kind != "heading"]
        return {"type": "page", "title": SHOP, "blocks": shown}

    def problem(self) -> str:
        return f"{self.goal.asin}\n{self.goal.text}"

    def random_action(self, rng: np.random.Generator) -> str:
        return shopper.random_action(list(self.clicks), self.can_search, self.goal.text, rng)

    def scripted_action(self, rng: np.random.Generator) -> str:
        """Searches for the instruction's words, opens the first result, chooses the options it names, and buys."""
        return shopper.scripted_action(self.page, self.shown, self.goal.text, self.searches)

    def _following(self, action: str) -> Page | None:
        """The page that the action leads to; None if it means nothing on this one."""
        name, argument = parse_action(action)
        if name == "click":
            return self.clicks.get(argument)
        if name == "search" and argument and self.can_search:
            return Page(kind="results", keywords=argument[:LONGEST_QUERY])
        return None

    def _enter(self, page: Page) -> None:
        self.searches += page.kind == "results" and page.keywords != self.page.keywords
        self.page = page
        if page.kind == "item":
            self.opened.add(page.asin)
        if page.kind == "done":
            chosen = [value for _, value in page.options]
            self.score = score(self.shop.by_asin[page.asin], self.goal, chosen)
            self.over = True
        self._show()

    def _show(self) -> None:
        visit = Visit(
            shop=self.shop,
            goal=self.goal,
            per_page=self.config.results_per_page,
            show_attributes=self.config.show_attributes,
            opened=frozenset(self.opened),
            score=self.score,
        )
        self.shown = elements(self.page, visit)
        self.clicks = clicks(self.shown)


def parse_action(text: str) -> tuple[str, str]:
    """`Click[ Size [XL] ]` is click and `size [xl]`: the first bracket opens, the last closes, and case and further
    spaces do not matter. Two blanks for any other text."""
    name, opened, rest = text.strip().partition("[")
    if not opened or not rest.endswith("]"):
        return "", ""
    return folded(name), folded(rest[:-1])


def _block(element: Element) -> dict[str, str]:
    kind = "button" if element.kind in ("option", "product") else element.kind
    block = {"kind": kind, "text": element.text}
    return {**block, "state": "chosen"} if element.chosen else block
