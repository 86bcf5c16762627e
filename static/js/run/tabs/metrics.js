// Every metric of the run in sections that fold, filtered by a pattern. However many there are, only the charts in view
// are drawn.

import { byId, element, find } from "../../core/dom.js";
import { isOpen, prepareFolds, rememberFold } from "../../core/folds.js";
import { describe } from "../../core/glossary.js";
import { MetricSlot } from "../metric_slot.js";

/** @import { RunPage } from "../../types.js" */
/** @import { ChartGrid } from "../../charts/chart_grid.js" */
/** @import { Panels } from "../panels.js" */

const PAUSE = 120; // milliseconds without typing

/** @typedef {{ key: string, title: string }} SectionName */
/** @typedef {{ key: string, fold: HTMLDetailsElement, count: HTMLElement, slots: Map<string, MetricSlot> }} Section */

export class MetricsTab {
  /** @type {Section[]} */
  made = [];
  /** @type {ChartGrid | undefined} */
  grid = undefined;
  /** @type {number} */
  seen = -1;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  typing = undefined;

  /**
   * @param {Panels} panels
   * @param {SectionName[]} sections in the order of the page
   */
  constructor(panels, sections) {
    this.panels = panels;
    this.sections = sections;
    this.input = byId("metric-filter", HTMLInputElement);
    this.count = byId("metric-count");
    this.input.value = new URL(location.href).searchParams.get("metrics") ?? "";
    this.input.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.filter(), PAUSE);
    });
    byId("metric-open").addEventListener("click", () => this.foldAll(true));
    byId("metric-close").addEventListener("click", () => this.foldAll(false));
  }

  /** @param {RunPage} runPage */
  async draw({ store, view }) {
    if (this.seen !== store.keys.size) this.arrange(store.keys);
    await this.grid?.draw({ store, view });
  }

  /**
   * Makes a slot for each metric, by section and name.
   * @param {Set<string>} keys
   */
  arrange(keys) {
    this.seen = keys.size;
    const target = byId("charts-metrics");
    this.grid = this.panels.add("metrics", target, []).grid;
    /** @type {Map<string, string[]>} */
    const names = new Map(this.sections.map(({ key }) => [key, []]));
    for (const name of [...keys].sort()) {
      const { section } = describe(name);
      names.set(section, [...(names.get(section) ?? []), name]);
    }
    this.made = [...names].flatMap(([key, all]) => (all.length ? [this.section(key, all)] : []));
    target.append(...this.made.map(({ fold }) => fold));
    prepareFolds(target);
    for (const { fold, slots } of this.made) this.grid.appendTo(find(fold, ".charts"), ...slots.values());
    this.filter();
  }

  /**
   * @param {string} key
   * @param {string[]} names
   * @returns {Section}
   */
  section(key, names) {
    const title = this.sections.find((one) => one.key === key)?.title ?? key;
    const count = element("span", { class: "muted num" });
    const head = element("summary", {}, element("h2", {}, title), count);
    const charts = element("div", { class: "charts" });
    const fold = element("details", { class: "fold", "data-fold": `metrics.${key}`, open: true }, head, charts);
    return { key, fold, count, slots: new Map(names.map((name) => [name, new MetricSlot(name, this.panels)])) };
  }

  /** @param {boolean} open */
  foldAll(open) {
    for (const { key, fold } of this.made) {
      fold.open = open;
      rememberFold(`metrics.${key}`, open);
    }
  }

  filter() {
    const text = this.input.value.trim();
    const address = new URL(location.href);
    if (text) address.searchParams.set("metrics", text);
    else address.searchParams.delete("metrics");
    history.replaceState(null, "", address);
    const { pattern, problem } = patternOf(text);
    this.input.setAttribute("aria-invalid", String(Boolean(problem)));
    const all = this.made.reduce((sum, { slots }) => sum + slots.size, 0);
    const shown = this.made.reduce((sum, section) => sum + showMatching(section, pattern, Boolean(text)), 0);
    this.count.textContent = problem ? `${problem} It is searched as plain text.` : `${shown} of ${all} metrics`;
    this.panels.host.onNear();
  }
}

/**
 * How many metrics of a section match. While a pattern is searched for, what it finds is unfolded.
 * @param {Section} section
 * @param {RegExp} pattern
 * @param {boolean} searched
 */
function showMatching({ key, fold, count, slots }, pattern, searched) {
  let shown = 0;
  for (const [name, { panel }] of slots) {
    panel.hidden = !pattern.test(name) && !pattern.test(describe(name).title);
    if (!panel.hidden) shown += 1;
  }
  fold.hidden = !shown;
  fold.open = searched || isOpen(`metrics.${key}`, true);
  count.textContent = shown === slots.size ? String(shown) : `${shown} of ${slots.size}`;
  return shown;
}

/** @param {string} text */
function patternOf(text) {
  try {
    return { pattern: new RegExp(text, "i"), problem: "" };
  } catch {
    const plain = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return { pattern: new RegExp(plain, "i"), problem: "This is not a regular expression." };
  }
}
