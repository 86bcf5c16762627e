"""axe in a page. Its check of contrast, which takes most of its time, gets three elements of each look: texts of the
same style on the same backgrounds have the same contrast, and a table has hundreds of them."""

from __future__ import annotations

import json
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page

# The key is all that contrast depends on, and what makes axe skip an element: then others of its look must count.
MARK_EACH_LOOK = """() => {
    const behind = new Map([[null, ""]]);
    const styles = new Map();
    const styleOf = (element) => {
        if (!styles.has(element)) styles.set(element, getComputedStyle(element));
        return styles.get(element);
    };
    const backgroundsOf = (element) => {
        if (!behind.has(element)) {
            const { backgroundColor, backgroundImage, opacity, position } = styleOf(element);
            const own = [backgroundColor, backgroundImage, opacity, position === "static" ? "" : position].join(" ");
            const outer = backgroundsOf(element.parentElement);
            behind.set(element, own === "rgba(0, 0, 0, 0) none 1 " ? outer : `${outer}>${own}`);
        }
        return behind.get(element);
    };
    const seen = new Map();
    for (const element of document.body.querySelectorAll("*")) {
        element.removeAttribute("data-look");
        const text = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE)
            .map((node) => node.data.trim()).join("") || element.value || element.placeholder || "";
        if (!text || !element.checkVisibility({ visibilityProperty: true })) continue;
        const { color, fontSize, fontWeight, textShadow } = styleOf(element);
        const skipped = Boolean(element.closest(":disabled, [aria-disabled=true], label")) || text.length < 2;
        const look = [
            element.localName, element.getAttribute("class"), color, fontSize, fontWeight, textShadow, skipped,
            backgroundsOf(element),
        ].join("|");
        seen.set(look, (seen.get(look) ?? 0) + 1);
        if (seen.get(look) <= 3) element.setAttribute("data-look", "");
    }
}"""
CONTRAST_OF_LOOKS = """axe.configure({ rules: [{ id: "color-contrast", selector: "[data-look]" }] })"""


def violations(page: Page, options: dict[str, Any], within: str = "html") -> list[dict[str, Any]]:
    """Of the elements in `within`, by rules that `options`, of `axe.run`, leave on."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(f"{AXE_SCRIPT};{CONTRAST_OF_LOOKS}")
    page.evaluate(MARK_EACH_LOOK)
    run = f"axe.run({json.dumps(within)}, {json.dumps(options)})"
    found: list[dict[str, Any]] = page.evaluate(f"{run}.then((found) => found.violations)")
    return found
