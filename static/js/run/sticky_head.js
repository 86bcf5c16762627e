// What stays on the screen of a run's page while it is scrolled: its name, its verdict and its tabs. Their height is a
// property of the page, so that anchors, the focus and other bars stay below them. And the head's menu and dialogs.

import { byId, find, findAll } from "../core/dom.js";

const ROOM = 8; // pixels between the tabs and what is scrolled to

/** The height of what stays, in pixels. */
function stuckHeight() {
  const [top, title, bar] = [byId("run-top"), byId("run-title"), byId("run-bar")];
  const kept = getComputedStyle(top).display === "contents" ? [title, bar] : [top]; // on a phone only two of its parts
  const sticky = kept.filter((one) => getComputedStyle(one).position === "sticky");
  return sticky.reduce((sum, one) => sum + one.offsetHeight, 0);
}

export function prepareHead() {
  const measure = () => document.documentElement.style.setProperty("--stuck", `${stuckHeight()}px`);
  const watch = new ResizeObserver(measure);
  for (const id of ["run-top", "run-title", "run-bar"]) watch.observe(byId(id));
  measure();
  for (const opener of findAll(document, "[data-opens]", HTMLButtonElement)) {
    const dialog = byId(opener.dataset.opens ?? "", HTMLDialogElement);
    opener.addEventListener("click", () => dialog.showModal());
    find(dialog, "[data-closes]").addEventListener("click", () => dialog.close());
  }
  prepareMenu(byId("run-menu", HTMLDetailsElement));
}

/** @param {HTMLDetailsElement} menu */
function prepareMenu(menu) {
  menu.addEventListener("click", ({ target }) => {
    if (target instanceof Element && target.closest(".menu-item")) menu.open = false;
  });
  menu.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !menu.open) return;
    menu.open = false;
    find(menu, "summary").focus();
  });
}

/**
 * Shows which tab is selected, wherever the row of tabs is scrolled to.
 * @param {HTMLElement} tab
 */
export function showTab(tab) {
  const row = find(document, "#run-bar [role=tablist]");
  row.scrollLeft = tab.offsetLeft - (row.clientWidth - tab.offsetWidth) / 2;
}

/** Goes up to where a view begins, if the one before it was scrolled further. */
export function scrollToView() {
  const begin = byId("run").getBoundingClientRect().top + scrollY - stuckHeight() - ROOM;
  if (scrollY > begin) scrollTo({ top: Math.max(0, begin), behavior: "instant" });
}
