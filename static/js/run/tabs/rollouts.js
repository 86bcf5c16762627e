// The Rollouts tab: the form of responses as a story of its own, then every curve of rollouts, rewards and environments.

import { stepsShown } from "../../charts/step_window.js";
import { byId, element } from "../../core/dom.js";
import { number, percent } from "../../core/format.js";
import { caseWord, changes, how, story } from "../format_changes.js";
import { label } from "../../core/glossary.js";
import { refreshRows } from "../../lists/refresh_rows.js";
import { SmallChart } from "../../charts/small_chart.js";
import { StepScrubber } from "../step_scrubber.js";
import { stepsQuery, stepsInWords } from "../../charts/step_range.js";
import { showText } from "../../core/visible_text.js";

/** @import { Facts, HistoryPage, HistoryStore, Series } from "../../types.js" */
/** @import { FormatChange } from "../format_changes.js" */
/** @import { Panels } from "../panels.js" */
/** @import { RunView } from "../view_state.js" */
/** @import { SmallChartOptions } from "../../charts/small_chart.js" */

const LINES = 8; // different colours

/** @typedef {(metric: string, name: string, kind: string) => Series} LineOf */

export class RolloutsTab {
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
    this.addresses = addresses;
    this.facts = facts;
    const part = (/** @type {string} */ name) => byId(`rollouts-${name}`);
    const choose = (/** @type {number} */ step) => this.scrubber.chooseNear(step);
    this.scrubber = new StepScrubber("the rollouts", view, () => this.redraw());
    part("scrubber").append(this.scrubber.root);
    this.said = part("said");
    this.signs = part("signs");
    this.read = byId("rollouts-read", HTMLAnchorElement);
    this.how = part("how");
    /**
     * @param {string | HTMLElement} title
     * @param {Partial<SmallChartOptions>} options
     */
    const chart = (title, options) => new SmallChart({ title, low: 0, onStep: choose, ...options });
    this.length = chart(label("rollout/response_tokens"), {});
    this.cut = chart(label("rollout/cut_off_rate"), { show: percent });
    this.parse = chart("Parse failures by reason, share of responses", {
      show: percent,
      whyEmpty: "No response has been malformed so far.",
    });
    this.invalid = chart("Unknown actions, share of responses", { show: percent });
    this.turns = chart("Share of turns used", { high: 1, show: percent });
    part("curves").append(...[this.length, this.cut, this.parse, this.invalid, this.turns].map((one) => one.panel));
  }

  redraw() {
    if (this.page) this.draw(this.page);
  }

  /** @param {HistoryPage} page */
  async draw(page) {
    this.page = page;
    const { store, view, state } = page;
    this.scrubber.offer(store.everyStep);
    this.tell(store.steps, state.total_steps);
    this.drawCurves(store, view);
    const step = this.scrubber.step;
    this.read.href = `${this.addresses.trajectories}${step === null ? "" : `?step=${step}`}`;
    this.read.textContent = step === null ? "Trajectories" : `Read the trajectories of step ${step}`;
    await this.panels.draw("rollouts", store, view, this.scrubber.step);
  }

  /**
   * @param {HistoryStore["steps"]} steps
   * @param {number} total
   */
  tell(steps, total) {
    this.how.textContent = how(total, steps);
    this.said.textContent = story(steps, total);
    const signs = changes(steps, total).map((one) => this.sign(one));
    refreshRows(this.signs, signs, (one) => one.dataset.sign);
  }

  /** @param {FormatChange} formatChange */
  sign({ key, says, step, first, from, to, now, still, worst }) {
    const began = { step, first };
    const button = element("button", { class: "button button--small", type: "button" }, stepsInWords(began));
    button.addEventListener("click", () => this.scrubber.choose(step));
    const since = still ? `now ${now}` : `since back at ${now}`;
    const detail = `${from} → ${to}${worst ? `, mostly ${caseWord(worst)}` : ""}; ${since}`;
    return element(
      "li",
      { class: still ? "is-still" : "", "data-sign": key },
      button,
      element("strong", {}, says),
      element("span", { class: "num" }, detail),
      element(
        "a",
        { class: "button button--small", href: `${this.addresses.trajectories}?${stepsQuery(began)}` },
        "Read",
        element("span", { class: "visually-hidden" }, ` the trajectories of ${stepsInWords(began)}`),
      ),
    );
  }

  /**
   * @param {HistoryStore} store
   * @param {RunView} view
   */
  drawCurves(store, view) {
    const shown = { domain: stepsShown(store, view), mark: this.scrubber.step };
    /** @type {LineOf} */
    const of = (metric, name, kind) => ({ name, kind, points: store.points(metric) });
    const limits = [...new Set(this.facts.environments.map((one) => one.maxResponseTokens))];
    /** @type {Series[]} */
    const length = [
      of("rollout/response_tokens", "mean", "line-1"),
      of("rollout/response_tokens_p95", "95th percentile", "line-2"),
    ];
    // the limit as a line where responses come near it; elsewhere it would flatten the rest
    const near = length.some((one) => one.points.some((point) => point.y > limits[0] / 2));
    if (limits.length === 1 && near)
      {length.push({
        name: "limit",
        kind: "line-limit",
        points: shown.domain.map((step) => ({ step, y: limits[0] })),
        dots: false,
      });}
    this.length.draw({ ...shown, series: length });
    this.cut.draw({
      ...shown,
      series: [of("rollout/cut_off_rate", `at ${limits.map((one) => number(one)).join(" or ")} tokens`, "line-1")],
    });
    this.parse.draw({ ...shown, series: this.failures(store, of) });
    this.invalid.draw({
      ...shown,
      series: this.byEnvironment("invalid_action_rate", "rollout/invalid_action_rate", of, store),
    });
    this.turns.draw({
      ...shown,
      series: this.byEnvironment("turns_used", null, of, store),
      whyEmpty: "This run's engine did not measure it.",
    });
  }

  /**
   * Reasons that ever occurred, the most frequent first.
   * @param {HistoryStore} store
   * @param {LineOf} of
   */
  failures(store, of) {
    const names = [...store.keys].filter(
      (name) => name.startsWith("rollout/parse/") && !/\/(ok|too_many_actions)$/.test(name),
    );
    const total = (/** @type {string} */ name) => store.steps.reduce((sum, { metrics }) => sum + (metrics[name] ?? 0), 0);
    return names
      .map((name) => ({ name, sum: total(name) }))
      .filter(({ sum }) => sum > 0)
      .sort((one, other) => other.sum - one.sum)
      .slice(0, LINES)
      .map(({ name }, index) => of(name, caseWord(name.split("/")[2]), `line-${index + 1}`));
  }

  /**
   * A line for each environment; one for all where it was not measured by environment.
   * @param {string} measure
   * @param {string | null} together
   * @param {LineOf} of
   * @param {HistoryStore} store
   */
  byEnvironment(measure, together, of, store) {
    const known = this.facts.environments.filter(({ tag }) => store.keys.has(`env/${tag}/${measure}`));
    if (!known.length) return together ? [of(together, "all environments", "line-1")] : [];
    return known.slice(0, LINES).map(({ tag }, index) => {
      const name = element("span", {});
      showText(name, tag);
      return { ...of(`env/${tag}/${measure}`, "", `line-${index + 1}`), name };
    });
  }
}
