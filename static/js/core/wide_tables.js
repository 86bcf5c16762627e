// A table that is wider than its frame: the frame takes the focus, so that keys can scroll it. One that fits is no tab
// stop.

import { findAll } from "./dom.js";

/** @param {Element} frame */
const isScrolled = (frame) => frame.scrollWidth > frame.clientWidth;

/** @param {HTMLElement} frame */
function fit(frame) {
  if (isScrolled(frame) && frame.tabIndex < 0) {
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", nameOf(frame));
  } else if (!isScrolled(frame)) ["tabindex", "role", "aria-label"].forEach((name) => frame.removeAttribute(name));
}

/** @param {Element} frame */
const nameOf = (frame) =>
  frame.querySelector("caption")?.textContent ??
  frame.closest("section, details")?.querySelector("h1, h2, h3, summary")?.textContent ??
  "Table";

const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const frame = target.closest(".table-wrap");
    if (frame instanceof HTMLElement) fit(frame);
  }
});

/**
 * For as long as the page is open: windows and tables grow and shrink. Tables that are added later are to be given.
 * @param {ParentNode} parent
 */
export function keepWideTablesReachable(parent = document) {
  for (const frame of findAll(parent, ".table-wrap")) {
    [frame, ...[...frame.children].slice(0, 1)].forEach((one) => watch.observe(one));
  }
}
