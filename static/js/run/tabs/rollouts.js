// The Rollouts tab: the changes of response format that the verdict lists, then all charts of rollouts, rewards and
// environments.

import { stepsShown } from "../../charts/step_window.js";
import { byId, element } from "../../core/dom.js";
import { number, percent } from "../../core/format.js";
import { label } from "../../core/glossary.js";
import { refreshRows } from "../../lists/refresh_rows.js";
import { SmallChart } from "../../charts/small_chart.js";
import { StepScrubber } from "../step_scrubber.js";
import { showText } from "../../core/visible_text.js";

/** @import { Facts, FormatChange, HistoryPage, HistoryStore, Series, Verdict } from "../../types.js" */
/** @import { Panels } from "../panels.js" */
/** @import { RunView } from "../view_state.js" */
/** @import { SmallChartOptions } from "../../charts/small_chart.js" */

const LINES = 8; // different colours
/** @type {Record<FormatChange["unit"], (value: number) => string>} */
const SHOWN = { share: percent, tokens: (value) => `${number(value, 1)} tokens`, turns: (value) => number(value, 2) };
const caseName = (/** @type {string} */ name) => name.replaceAll("_", " ");

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
    this.summary = part("summary");
    this.signs = part("signs");
    this.read = byId("rollouts-read", HTMLAnchorElement);
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
    this.invalid = chart("Invalid actions, share of responses", { show: percent });
    this.surplus = chart(label("rollout/surplus_actions"), {});
    this.turns = chart("Share of turns used", { high: 1, show: percent });
    const charts = [this.length, this.cut, this.parse, this.invalid, this.surplus, this.turns];
    part("curves").append(...charts.map((one) => one.panel));
  }

  redraw() {
    if (this.page) this.draw(this.page);
  }

  /** @param {HistoryPage} page */
  async draw(page) {
    this.page = page;
    const { store, view, state } = page;
    this.scrubber.offer(store.everyStep);
    this.showChanges(state.verdict);
    this.drawCurves(store, view);
    const step = this.scrubber.step;
    this.read.href = `${this.addresses.trajectories}${step === null ? "" : `?step=${step}`}`;
    this.read.textContent = step === null ? "Trajectories" : `Read the trajectories of step ${step}`;
    await this.panels.draw("rollouts", store, view, this.scrubber.step);
  }

  /** @param {Verdict | null | undefined} verdict */
  showChanges(verdict) {
    showText(this.summary, verdict?.format_summary ?? "No data yet: it begins with the first step.");
    const rows = (verdict?.format_changes ?? []).map((one) => this.changeRow(one));
    refreshRows(this.signs, rows, (one) => one.dataset.sign);
  }

  /** @param {FormatChange} change */
  changeRow({ key, title, unit, step, baseline, value, now, holds, main_case: mainCase }) {
    const button = element("button", { class: "button button--small", type: "button" }, `step ${step}`);
    button.addEventListener("click", () => this.scrubber.chooseNear(step));
    const show = SHOWN[unit];
    const since = holds ? `now ${show(now)}` : `since back at ${show(now)}`;
    const detail = `${show(baseline)} → ${show(value)}${mainCase ? `, mostly ${caseName(mainCase)}` : ""}; ${since}`;
    return element(
      "li",
      { class: holds ? "is-still" : "", "data-sign": key },
      button,
      element("strong", {}, title),
      element("span", { class: "num" }, detail),
      element(
        "a",
        { class: "button button--small", href: `${this.addresses.trajectories}?step=${step}` },
        "Read",
        element("span", { class: "visually-hidden" }, ` the trajectories of step ${step}`),
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
    if (limits.length === 1 && near) {
      length.push({
        name: "limit",
        kind: "line-limit",
        points: shown.domain.map((step) => ({ step, y: limits[0] })),
        dots: false,
      });
    }
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
    this.surplus.draw({ ...shown, series: [of("rollout/surplus_actions", "all environments", "line-1")] });
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
    const names = [...store.keys].filter((name) => name.startsWith("rollout/parse/") && !name.endsWith("/ok"));
    const total = (/** @type {string} */ name) =>
      store.steps.reduce((sum, { metrics }) => sum + (metrics[name] ?? 0), 0);
    return names
      .map((name) => ({ name, sum: total(name) }))
      .filter(({ sum }) => sum > 0)
      .sort((one, other) => other.sum - one.sum)
      .slice(0, LINES)
      .map(({ name }, index) => of(name, caseName(name.split("/")[2]), `line-${index + 1}`));
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
