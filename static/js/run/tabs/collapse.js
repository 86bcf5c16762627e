// The Collapse tab: the regime map, retrieval, gradients by bucket and templates, all at the selected step; what explains
// them is folded below.

import { stepsShown } from "../../charts/step_window.js";
import { byId, element } from "../../core/dom.js";
import { prepareFolds } from "../../core/folds.js";
import { number, percent } from "../../core/format.js";
import { GradientBuckets } from "../gradient_buckets.js";
import { label } from "../../core/glossary.js";
import { regimeKey, RegimeMap } from "../regime_map.js";
import { describeRegime, readings, RegimesOfRun, regimeTexts } from "../regimes.js";
import { SmallChart } from "../../charts/small_chart.js";
import { StepScrubber } from "../step_scrubber.js";
import { TemplatesPanel } from "../templates_panel.js";
import { whyNoEstimate } from "../empty_state.js";

/** @import { Facts, HistoryPage, HistoryStore, RunState, Series, Window } from "../../types.js" */
/** @import { Reading } from "../regimes.js" */
/** @import { Panels } from "../panels.js" */
/** @import { RunView } from "../view_state.js" */

const HEIGHT = 280; // pixels of the pictures beside the map

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
    this.regimes = new RegimesOfRun(addresses.run ?? "");
    this.texts = regimeTexts();
    this.map = new RegimeMap(choose);
    this.per = byId("collapse-per", HTMLSelectElement);
    this.per.addEventListener("change", () => this.redraw());
    this.summary = part("summary");
    this.why = part("why");
    this.body = part("body");
    this.facing = part("facts");
    this.borders = part("borders");
    part("scrubber").append(this.scrubber.root);
    part("map").append(this.map.root);
    part("key").append(regimeKey());
    this.reading = part("reading");
    const title = label("collapse/retrieval_above_chance");
    this.retrieval = new SmallChart({ title, low: 0, high: 1, onStep: choose, height: HEIGHT });
    part("retrieval").append(this.retrieval.panel);
    this.samples = new SmallChart({ title: label("collapse/samples"), low: 0, onStep: choose });
    this.ratio = new SmallChart({ title: label("collapse/mi_ratio"), low: 0, high: 1, onStep: choose });
    part("curves").append(this.ratio.panel, this.samples.panel);
    /**
     * @param {string} picture
     * @param {string} rest
     */
    const parts = (picture, rest) => ({ picture: part(picture), rest: part(rest), height: HEIGHT });
    this.gradients = new GradientBuckets(parts("gradients", "terms"), facts, choose);
    this.templates = new TemplatesPanel(parts("templates", "list"), addresses, facts, choose);
    prepareFolds(byId("view-collapse"));
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
    await this.drawRegimes(store, state, mark, domain);
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
  async drawRegimes(store, state, mark, domain) {
    const per = this.per.value;
    const map = await this.regimes.find(per, `${state.attempt} ${store.everyStep.at(-1) ?? 0}`);
    const found = map ? readings(store.steps, per, map) : [];
    this.body.hidden = this.reading.hidden = !found.length;
    byId("collapse-retrieval").hidden = !found.length;
    this.why.hidden = found.length > 0;
    if (!map?.borders || !found.length) {
      const why = whyNoEstimate(this.facts, state, store);
      this.why.textContent = why.text;
      this.why.dataset.kind = why.kind;
      this.summary.textContent = "";
      return;
    }
    const { borders, explanation } = map;
    const unit = per === "token" ? "nats per token" : "nats per thought";
    const now = found.findLast((one) => one.step <= (mark ?? Infinity)) ?? found[0];
    this.map.draw({ found, borders, step: now.step, unit });
    this.summary.textContent = describeRegime(found, now, this.texts);
    this.facing.replaceChildren(...factRows(now, this.texts[now.regime].title));
    this.borders.textContent = explanation;
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
        line("border of the map", "line-limit", () => borders.mutual_information),
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
 * @param {Reading} now
 * @param {string} regime its title
 */
function factRows(now, regime) {
  const rows = [
    ["Regime", regime],
    ["MI / ln N", number(now.mi)],
    ["MI", `${number(now.nats)} of ${number(now.ceiling)} nats`],
    ["H(Z|X)", number(now.h)],
    ["Retrieval accuracy above chance", `${number(now.retrieval)} of ${number(1 - now.chance)}`],
    ["Thoughts scored (M)", number(now.samples)],
    ["Prompts (N)", number(now.prompts)],
    ["Turns with a thought", percent(now.valid)],
  ];
  return rows.flatMap(([term, value]) => [element("dt", {}, term), element("dd", { class: "num" }, value)]);
}
