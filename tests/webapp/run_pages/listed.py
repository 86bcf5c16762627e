"""What the list of runs shows."""

from __future__ import annotations

import re

from django.test import Client

LIST = "/runs/"


def names_on(browser: Client, query: str = "") -> list[str]:
    return [row.run.name for row, _ in browser.get(LIST + query).context["rows"]]


def cells_of(browser: Client, query: str) -> list[str]:
    """The texts of the cells of the first row."""
    page = browser.get("/runs/rows/" + query).content.decode()
    browser.get(LIST + query)
    cells = re.findall(r"<td[^>]*>(.*?)</td>", page.partition("</tr>")[0], re.DOTALL)[1:]
    return [re.sub(r"<[^>]*>", "", cell).strip() for cell in cells]
