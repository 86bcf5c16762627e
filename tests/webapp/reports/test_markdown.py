"""The text of reports: what becomes HTML, what is a block, and what is only text."""

from __future__ import annotations

import pytest

from webapp.reports.markdown import KINDS, Block, Prose, parts_of


def html_of(text: str, origin: str = "") -> str:
    return "".join(part.html for part in parts_of(text, origin=origin) if isinstance(part, Prose))


def test_fenced_code_with_the_word_of_a_kind_is_a_block_where_it_stands() -> None:
    parts = parts_of("Before.\n\n```chart\n/compare/?runs=a\n```\n\nAfter.\n\n```python\nx = 1\n```\n")
    assert [type(part) for part in parts] == [Prose, Block, Prose]
    assert parts[1] == Block(kind="chart", address="/compare/?runs=a")
    assert parts_of("```chart\r\nx\r\n```\r\n") == [Block(kind="chart", address="x")]  # as forms send it
    assert "After." in html_of("After.") and '<code class="language-python">' in html_of("```python\nx\n```")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_recognised(kind: str) -> None:
    assert parts_of(f"```{kind}\nx\n```") == [Block(kind=kind, address="x")]


def test_headings_are_below_the_title_of_the_page() -> None:
    assert html_of("# One\n\n###### Six") == "<h2>One</h2>\n<h6>Six</h6>\n"


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "[x](vbscript:x)",
        "![x](https://elsewhere.example/pixel.png)",
        '<a href="x" onclick="y">',
        "<style>*{display:none}</style>",
        "| a |\n|:-:|\n| <b onclick=x>y</b> |",
    ],
)
def test_nothing_hostile_becomes_markup(hostile: str) -> None:
    html = html_of(hostile)
    for part in ("<script", "<img", "<style", "<b ", "style=", '<a href="x"', 'href="javascript', 'href="data:'):
        assert part not in html


def test_a_table_is_aligned_by_classes_since_styles_are_not_allowed() -> None:
    html = html_of("| a | b |\n|--:|:-:|\n| 1 | 2 |")
    assert '<td class="align-right">1</td>' in html and '<th class="align-center">b</th>' in html


def test_links_to_the_site_get_its_origin_and_others_reveal_nothing() -> None:
    html = html_of("[here](/runs/) [there](https://example.org/x) [else](//example.org)", origin="https://site")
    assert '<a href="https://site/runs/">' in html
    assert html.count('rel="noopener noreferrer nofollow"') == 2


def test_characters_that_nobody_sees_are_named() -> None:
    assert "[RLO]" in html_of("a\u202eb")
