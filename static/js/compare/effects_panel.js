// What an outcome of several runs goes with: parallel coordinates, a scatter plot of one setting, and a table of all.

import { drawParallel, drawScatter } from "./effects_charts.js";
import { byId, element, find } from "../core/dom.js";
import { number } from "../core/format.js";
import { getJson } from "../core/requests.js";
import { setQuery } from "../run/view_state.js";
import { visibleString } from "../core/visible_text.js";
import { readable } from "./view_state.js";

/** @typedef {{ key: string, label: string, values: string[], numbers: number[] | null }} SettingField */
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
    this.across.replaceChildren(...effects.map(({ key }) => element("option", { value: key }, visibleString(key))));
    const across = new URL(location.href).searchParams.get("across");
    if (effects.some(({ key }) => key === across)) this.across.value = across ?? "";
  }

  draw() {
    const { answer } = this;
    if (!answer) return;
    const { problem, runs = [], fields = [], effects = [] } = answer;
    this.body.hidden = Boolean(problem);
    this.status.textContent = problem ?? aboutRuns(answer);
    if (problem) return;
    const ordered = effects.flatMap(({ key }) => fields.filter((field) => field.key === key));
    const field = fields.find(({ key }) => key === this.across.value) ?? ordered[0];
    drawParallel(byId("effects-parallel"), { runs, fields: ordered, title: answer.title });
    drawScatter(byId("effects-scatter"), { runs, field, title: answer.title });
    find(byId("effects-table"), "tbody").replaceChildren(...effects.map(rowOf));
  }
}

/** @param {EffectsAnswer} answer */
function aboutRuns({ runs = [], left_out = 0, more_fields = 0, notes }) {
  const without = left_out ? ` ${left_out} without this outcome ${left_out === 1 ? "is" : "are"} left out.` : "";
  const more = more_fields ? ` ${more_fields} more settings differ and are not shown.` : "";
  return [`${runs.length} runs.${without}${more}`, ...notes].join(" ");
}

/** @param {SettingEffect} effect */
function rowOf({ key, correlation, share, problem }) {
  const interval =
    correlation && correlation.low !== null && correlation.high !== null
      ? ` [${number(correlation.low)}, ${number(correlation.high)}]`
      : "";
  const rho = correlation ? `${number(correlation.rho)}${interval}` : "–";
  const part = share
    ? `${number(share.share)}, by chance ${number(share.by_chance)}, p = ${share.p < 0.001 ? "< 0.001" : number(share.p)}`
    : problem || "–";
  return element(
    "tr",
    {},
    element("th", { scope: "row", class: "mono" }, visibleString(key)),
    element("td", { class: "num" }, rho),
    element("td", { class: "num" }, part.replace("= <", "<")),
  );
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
