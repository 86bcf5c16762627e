// The Collapse tab: the regime map, retrieval, gradients by bucket and templates, all at the selected step.

import { stepsShown } from "../../charts/step_window.js";
import { byId, element } from "../../core/dom.js";
import { number, percent } from "../../core/format.js";
import { GradientBuckets } from "../gradient_buckets.js";
import { label } from "../../core/glossary.js";
import { bordersOf, formatBreaks, readings, regimeKey, regimeOf, RegimeMap, REGIMES } from "../regime_map.js";
import { SmallChart } from "../../charts/small_chart.js";
import { StepScrubber } from "../step_scrubber.js";
import { TemplatesPanel } from "../templates_panel.js";
import { whyNoEstimate } from "../empty_state.js";

/** @import { Facts, HistoryPage, HistoryStore, RegimeRule, RunState, Series, Window } from "../../types.js" */
/** @import { Borders, Reading } from "../regime_map.js" */
/** @import { Panels } from "../panels.js" */
/** @import { RunView } from "../view_state.js" */

export class CollapseTab {
  /** @type {HistoryPage | undefined} */
  page = undefined;

  /**
   * @param {Panels} panels
   * @param {DOMStringMap} addresses
   * @param {Facts} facts
   * @param {RunView} view
   */
  constructor(panels, addresses, facts, view) {
    this.panels = panels;
    this.facts = facts;
    const part = (/** @type {string} */ name) => byId(`collapse-${name}`);
    const choose = (/** @type {number} */ step) => this.scrubber.chooseNear(step);
    this.scrubber = new StepScrubber("the collapse diagnostics", view, () => this.redraw());
    this.map = new RegimeMap(choose);
    this.per = byId("collapse-per", HTMLSelectElement);
    this.per.addEventListener("change", () => this.redraw());
    this.said = part("said");
    this.why = part("why");
    this.body = part("body");
    this.facing = part("facts");
    this.borders = part("borders");
    part("scrubber").append(this.scrubber.root);
    part("map").append(this.map.root, regimeKey());
    this.retrieval = new SmallChart({
      title: label("collapse/retrieval_above_chance"),
      low: 0,
      high: 1,
      onStep: choose,
    });
    this.samples = new SmallChart({ title: label("collapse/samples"), low: 0, onStep: choose });
    this.ratio = new SmallChart({ title: label("collapse/mi_ratio"), low: 0, high: 1, onStep: choose });
    part("curves").append(this.ratio.panel, this.retrieval.panel, this.samples.panel);
    this.gradients = new GradientBuckets(part("gradients"), facts, choose);
    this.templates = new TemplatesPanel(part("templates"), addresses, facts, choose);
  }

  redraw() {
    if (this.page) this.draw(this.page);
  }

  /** @param {HistoryPage} page */
  async draw(page) {
    this.page = page;
    const { store, view, state } = page;
    this.scrubber.offer(store.everyStep);
    const mark = this.scrubber.step;
    const domain = stepsShown(store, view);
    this.drawRegimes(store, state, mark, domain);
    this.gradients.draw(store, state, domain, mark);
    await this.templates.draw(store, state, domain, mark);
    await this.panels.draw("collapse", store, view, this.scrubber.step);
  }

  /**
   * @param {HistoryStore} store
   * @param {RunState} state
   * @param {number | null} mark
   * @param {Window} domain
   */
  drawRegimes(store, state, mark, domain) {
    const found = readings(store.steps, this.per.value);
    this.body.hidden = !found.length;
    this.why.hidden = found.length > 0;
    if (!found.length) {
      const why = whyNoEstimate(this.facts, state, store);
      this.why.textContent = why.text;
      this.why.dataset.kind = why.kind;
      this.said.textContent = "";
      return;
    }
    const borders = bordersOf(found, this.facts.rule);
    if (!borders) return;
    const unit = this.per.value === "token" ? "nats per token" : "nats of a whole thought";
    const now = found.findLast((one) => one.step <= (mark ?? Infinity)) ?? found[0];
    this.map.draw({ found, borders, step: now.step, unit });
    this.said.textContent = sentence(found, borders, now);
    this.facing.replaceChildren(...factRows(now, borders));
    this.borders.textContent = bordersInWords(borders, this.facts.rule, unit);
    /**
     * @param {string} name
     * @param {string} kind
     * @param {(one: Reading) => number | undefined} y
     * @returns {Series}
     */
    const line = (name, kind, y) => ({
      name,
      kind,
      points: found.flatMap((one) => {
        const value = y(one);
        return value === undefined ? [] : [{ step: one.step, y: value }];
      }),
    });
    this.ratio.draw({
      series: [
        line("share of the ceiling", "line-1", (one) => one.mi),
        line("border of the map", "line-limit", () => borders.mi),
      ],
      domain,
      mark,
    });
    this.retrieval.draw({
      series: [
        line("above chance", "line-1", (one) => one.retrieval),
        line("ceiling, 1 − chance", "line-limit", (one) => 1 - one.chance),
      ],
      domain,
      mark,
    });
    const valid = store.steps
      .filter(({ metrics }) => metrics["collapse/first_turns_valid"] !== undefined)
      .map(({ step, metrics }) => ({ step, y: metrics["collapse/first_turns_valid"] }));
    this.samples.draw({
      series: [
        line("scored (M)", "line-1", (one) => one.samples),
        line("prompts (N)", "line-2", (one) => one.prompts),
        { name: "first turns with a thought", kind: "line-3", points: valid },
      ],
      domain,
      mark,
    });
  }
}

/**
 * @param {Reading[]} found
 * @param {Borders} borders
 * @param {Reading} now
 */
function sentence(found, borders, now) {
  const regime = regimeOf(now, borders);
  const before = found.slice(0, found.indexOf(now)).findLast((one) => regimeOf(one, borders) !== regime);
  const since = before ? found[found.indexOf(before) + 1].step : found[0].step;
  const long = since === now.step ? `at step ${now.step}` : `since step ${since}`;
  const fault = formatBreaks(now, borders)
    ? ` The format is breaking: ${percent(now.valid)} of turns have a thought.`
    : "";
  const from = before ? `, after ${REGIMES[regimeOf(before, borders)].word.toLowerCase()}` : "";
  return `${REGIMES[regime].word} ${long}${from}: ${REGIMES[regime].what}.${fault}`;
}

/**
 * @param {Reading} now
 * @param {Borders} borders
 */
function factRows(now, borders) {
  const rows = [
    ["Regime", REGIMES[regimeOf(now, borders)].word],
    ["MI / ln N", number(now.mi)],
    ["MI", `${number(now.nats)} of ${number(now.ceiling)} nats`],
    ["H(Z|X)", number(now.h)],
    ["Retrieval above chance", `${number(now.retrieval)} of ${number(1 - now.chance)}`],
    ["Thoughts scored (M)", number(now.samples)],
    ["Prompts (N)", number(now.prompts)],
    ["Turns with a thought", percent(now.valid)],
  ];
  return rows.flatMap(([term, value]) => [element("dt", {}, term), element("dd", { class: "num" }, value)]);
}

/**
 * @param {Borders} borders
 * @param {RegimeRule} rule
 * @param {string} unit
 */
function bordersInWords(borders, rule, unit) {
  const start = borders.over === 1 ? "the first reading" : `the mean of the first ${borders.over} readings`;
  const floor =
    rule.floor > borders.startMi ? `, which is below the rule's floor of ${number(rule.floor)}, so of that` : "";
  return (
    `The four regimes are RAGEN v2's (arXiv 2604.06268), which gives no numbers for where they end. The borders are ours, from this run's own start: ` +
    `MI / ln N at ${number(borders.mi)}, ${percent(rule.limit)} of ${start} (${number(borders.startMi)})${floor}; ` +
    `H(Z|X) at ${number(borders.h)} ${unit}, ${percent(rule.holding_limit)} of ${start} (${number(borders.startH)}). ` +
    `${rule.own ? `Both are the limits of this run's alert rule ${rule.name}.` : "Both are the limits of the alert rule template_collapse, which this run does not have."} ` +
    `Falling apart begins at one and a half times the start (${number(borders.apart)}), which 10 of 17 recorded runs passed before they collapsed. ` +
    `A diamond marks steps where turns with a thought are under nine tenths of the start: the format breaks, whatever the regime.`
  );
}
