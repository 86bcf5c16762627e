// What an outcome of several runs goes with: parallel coordinates, a scatter plot of one setting, and a table of all.

import { axesOf, OUTCOME, ParallelChart } from "./parallel_chart.js";
import { brushesOf, rememberBrushes, selectedBy } from "./brushes.js";
import { compareRuns } from "./legend.js";
import { drawScatter } from "./scatter_chart.js";
import { byId, element, find } from "../core/dom.js";
import { number } from "../core/format.js";
import { tickText } from "./axis_scale.js";
import { getJson } from "../core/requests.js";
import { setQuery } from "../run/view_state.js";
import { visibleString } from "../core/visible_text.js";
import { readable } from "./view_state.js";

/** @typedef {{ key: string, label: string, values: string[], numbers: (number | null)[] | null, also: string[] }} SettingField `also` are settings that always change with it */
/** @import { Brush } from "./brushes.js" */
/** @typedef {{ id: string, name: string, colour: number, seed: number | null, y: number }} EffectRun */
/** @typedef {{ rho: number, low: number | null, high: number | null }} Correlation */
/** @typedef {{ share: number, by_chance: number, p: number, levels: number }} Share */
/** @typedef {{ key: string, correlation: Correlation | null, share: Share | null, problem: string }} SettingEffect */

/**
 * @typedef {object} EffectsAnswer
 * @property {string} outcome
 * @property {string} title
 * @property {{ name: string, title: string }[]} outcomes
 * @property {string} [problem]
 * @property {EffectRun[]} [runs]
 * @property {SettingField[]} [fields]
 * @property {SettingEffect[]} [effects]
 * @property {number} [left_out] runs without the outcome
 * @property {number} [more_fields]
 * @property {string[]} notes
 */

const MOST_AXES = 12; // that can still be read, of settings in the order of their importance

/** Fills the panel once it comes into view. */
export function prepareEffects() {
  const host = document.getElementById("settings-effects");
  if (!host) return;
  const watch = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watch.disconnect();
    new EffectsPanel(host).load();
  });
  watch.observe(host);
}

class EffectsPanel {
  /** @type {EffectsAnswer | null} */
  answer = null;

  /** @param {HTMLElement} host */
  constructor(host) {
    this.address = host.dataset.url ?? "";
    this.status = byId("effects-status");
    this.body = byId("effects-body");
    this.outcome = byId("effects-outcome", HTMLSelectElement);
    this.across = byId("effects-across", HTMLSelectElement);
    this.selection = byId("effects-selection");
    this.brushes = brushesOf(location.href);
    this.parallel = new ParallelChart(byId("effects-parallel"), (brush, key) => {
      this.select([...this.brushes.filter((one) => one.key !== key), ...(brush ? [brush] : [])]);
    });
    this.outcome.addEventListener("change", () => {
      remember("outcome", this.outcome.value);
      this.load();
    });
    this.across.addEventListener("change", () => {
      remember("across", this.across.value);
      this.draw();
    });
    const redraw = () => this.draw();
    new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  }

  async load() {
    const address = new URL(this.address, location.href);
    const outcome = new URL(location.href).searchParams.get("outcome");
    if (outcome) address.searchParams.set("outcome", outcome);
    this.answer = await getJson(address.href);
    if (!this.answer) {
      this.status.textContent = "The server did not answer. Reload the page.";
      return;
    }
    this.offer(this.answer);
    this.draw();
  }

  /** @param {EffectsAnswer} answer */
  offer({ outcome, outcomes, effects = [] }) {
    const named = outcomes.some(({ name }) => name === outcome)
      ? outcomes
      : [{ name: outcome, title: outcome }, ...outcomes];
    const options = named.map(({ name, title }) => element("option", { value: name }, visibleString(title)));
    this.outcome.replaceChildren(...options);
    this.outcome.value = outcome;
    this.across.replaceChildren(
      ...effects.map(({ key }) => element("option", { value: key }, visibleString(this.labelOf(key)))),
    );
    const across = new URL(location.href).searchParams.get("across");
    if (effects.some(({ key }) => key === across)) this.across.value = across ?? "";
  }

  /** @param {string} key */
  labelOf(key) {
    if (key === OUTCOME) return this.answer?.title ?? "";
    return this.answer?.fields?.find((field) => field.key === key)?.label ?? key;
  }

  /** @param {Brush[]} brushes */
  select(brushes) {
    this.brushes = brushes;
    rememberBrushes(brushes);
    this.draw();
  }

  draw() {
    const { answer } = this;
    if (!answer) return;
    const { problem, runs = [], fields = [], effects = [] } = answer;
    this.body.hidden = Boolean(problem);
    this.status.textContent = problem ?? aboutRuns(answer);
    if (problem) return;
    const shown = fields.slice(0, MOST_AXES);
    const { brushes } = this;
    const content = { runs, fields: shown, title: answer.title, brushes };
    const selected = selectedBy(brushes, axesOf(content), runs.length);
    const field = fields.find(({ key }) => key === this.across.value) ?? fields[0];
    this.parallel.draw(content);
    drawScatter(byId("effects-scatter"), { runs, field, title: answer.title, selected });
    this.showSelection(
      runs.filter((_, i) => selected[i]).map(({ id }) => id),
      runs.length,
    );
    find(byId("effects-table"), "tbody").replaceChildren(
      ...effects.map((effect) =>
        rowOf(effect, /** @type {SettingField} */ (fields.find(({ key }) => key === effect.key))),
      ),
    );
  }

  /**
   * What is selected on the axes, and what can be done with it.
   * @param {string[]} ids of the selected runs
   * @param {number} count of all
   */
  showSelection(ids, count) {
    const { brushes } = this;
    if (!brushes.length) {
      this.selection.replaceChildren("Drag along an axis to select runs. A click on a line opens its run.");
      return;
    }
    const chips = brushes.map((brush) => {
      const { from, to } = brush;
      const words = `${this.labelOf(brush.key)}: ${textOf(from)}${from === to ? "" : ` to ${textOf(to)}`}`;
      return button(`${visibleString(words)} ✕`, "Remove this selection", () =>
        this.select(brushes.filter((one) => one !== brush)),
      );
    });
    this.selection.replaceChildren(
      `${ids.length} of ${count} runs selected `,
      ...chips,
      ...(ids.length ? [button("Compare only these", "Leave the others out", () => compareRuns(ids))] : []),
    );
  }
}

/**
 * @param {string} words
 * @param {string} title
 * @param {() => void} act
 */
function button(words, title, act) {
  const made = element("button", { type: "button", class: "button button--small", title }, words);
  made.addEventListener("click", act);
  return made;
}

/** @param {string} value as an address has it */
const textOf = (value) => (/^-?[\d.]+(e-?\d+)?$/.test(value) ? tickText(Number(value)) : value);

/** @param {EffectsAnswer} answer */
function aboutRuns({ runs = [], left_out = 0, more_fields = 0, notes }) {
  const without = left_out ? ` ${left_out} without this outcome ${left_out === 1 ? "is" : "are"} left out.` : "";
  const more = more_fields ? ` ${more_fields} more settings differ, and are less related to it.` : "";
  return [`${runs.length} runs.${without}${more}`, ...notes].join(" ");
}

/**
 * @param {SettingEffect} effect
 * @param {SettingField} field
 */
function rowOf({ correlation, share, problem }, { label, also }) {
  const bounded = correlation && correlation.low !== null && correlation.high !== null;
  const interval = bounded ? `[${number(correlation.low)}, ${number(correlation.high)}]` : "";
  const chance = share
    ? `by chance ${share.by_chance.toFixed(2)}, p ${share.p < 0.001 ? "<" : "="} ${Math.max(share.p, 0.001).toFixed(3)}`
    : "";
  const more = also.length
    ? [
        element(
          "span",
          { class: "effects-also", title: also.map(visibleString).join("\n") },
          `and ${also.length} that ${also.length === 1 ? "changes" : "change"} with it`,
        ),
      ]
    : [];
  return element(
    "tr",
    {},
    element("th", { scope: "row" }, element("span", { class: "mono" }, visibleString(label)), ...more),
    valueCell(correlation ? correlation.rho.toFixed(2) : "–", interval),
    valueCell(share ? share.share.toFixed(2) : problem || "–", chance),
  );
}

/**
 * @param {string} value
 * @param {string} about it, below
 */
function valueCell(value, about) {
  return element("td", { class: "num" }, value, ...(about ? [element("span", { class: "effects-about" }, about)] : []));
}

/**
 * @param {string} name
 * @param {string} value
 */
function remember(name, value) {
  const address = new URL(location.href);
  setQuery(address, name, value);
  history.replaceState(null, "", readable(address));
}
