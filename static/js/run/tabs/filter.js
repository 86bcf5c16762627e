// The Filter tab: the groups of each step, which of them the filter kept, and a preview of other filters.

import { stepsShown } from "../../charts/step_window.js";
import { byId, element, find } from "../../core/dom.js";
import { number, percent } from "../../core/format.js";
import { label } from "../../core/glossary.js";
import { groupMatrix, refocus } from "../group_matrix.js";
import { SmallChart } from "../../charts/small_chart.js";
import { StepScrubber } from "../step_scrubber.js";
import { getJson } from "../../core/requests.js";
import { FilterPreview } from "../filter_preview.js";

/** @import { Facts, FilterPreviewAnswer, HistoryPage, HistoryStore, Series, StepGroups } from "../../types.js" */
/** @import { Panels } from "../panels.js" */
/** @import { RunView } from "../view_state.js" */

const SETTLED = 120; // milliseconds without a change before a request

export class FilterTab {
  /** @type {HistoryPage | undefined} */
  page = undefined;
  /** @type {StepGroups | null} */
  groups = null;
  /** @type {FilterPreviewAnswer | null} */
  other = null;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  timer = undefined;
  /** @type {boolean} */
  all = false;
  /** @type {string} */
  have = "";
  /** @type {string} */
  requested = "";
  /** @type {string} */
  drawnNow = "";

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
    const part = (/** @type {string} */ name) => byId(`filter-${name}`);
    const choose = (/** @type {number} */ step) => this.scrubber.chooseNear(step);
    this.scrubber = new StepScrubber("the filter", view, () => this.redraw());
    part("scrubber").append(this.scrubber.root);
    this.summary = part("summary");
    this.why = part("why");
    this.matrix = part("matrix");
    this.more = part("more");
    this.key = part("key");
    this.form = byId("what-if", HTMLFormElement);
    this.previewSummary = byId("filter-preview-summary");
    this.preview = new FilterPreview(this.form, facts.filter, facts.groups, () => this.redrawSoon());
    this.kept = new SmallChart({ title: "Share of groups kept", low: 0, high: 1, show: percent, onStep: choose });
    this.std = new SmallChart({ title: label("reward/within_group_std"), low: 0, onStep: choose });
    this.zero = new SmallChart({
      title: label("rollout/zero_variance_share"),
      low: 0,
      high: 1,
      show: percent,
      onStep: choose,
    });
    part("curves").append(this.kept.panel, this.std.panel, this.zero.panel);
    this.more.addEventListener("click", () => {
      this.all = true;
      this.show();
    });
  }

  redraw() {
    if (this.page) this.draw(this.page);
  }

  redrawSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.redraw(), SETTLED);
  }

  /** @param {HistoryPage} page */
  async draw(page) {
    this.page = page;
    const { store, view } = page;
    this.scrubber.offer(store.everyStep);
    if (this.scrubber.step !== null) await this.fetch(store);
    this.show();
    await this.panels.draw("filter", store, view, this.scrubber.step);
  }

  /**
   * The step's groups are requested once; the preview whenever the filter, the step or the number of steps changes.
   * @param {HistoryStore} store
   */
  async fetch(store) {
    const { step } = this.scrubber;
    if (step === null) return;
    const newest = store.steps.at(-1);
    const attempt = store.steps.find((one) => one.step >= step)?.attempt; // a resumed run takes a step again
    const wanted = `${step}/${attempt}`;
    if (this.have !== wanted) {
      /** @type {StepGroups | null} */
      const groups = await getJson(`${this.addresses.groups}?step=${step}`);
      if (!groups || this.scrubber.step !== step) return; // another step was selected: that drawing is in progress
      this.groups = groups;
      this.have = wanted;
      this.all = false;
      this.preview.filter = groups.own; // a run may change its filter on the way
    }
    const requested = `${this.preview.query(step)}/${newest?.seq}`;
    if (this.groups?.step !== null && this.requested !== requested) {
      /** @type {FilterPreviewAnswer | null} */
      const other = await getJson(`${this.addresses.whatIf}?${this.preview.query(step)}`);
      if (!other || this.scrubber.step !== step) return;
      this.other = other;
      this.requested = requested;
    }
  }

  show() {
    const { groups, other } = this;
    const any = groups !== null && groups.step !== null;
    this.form.hidden = this.previewSummary.hidden = this.matrix.hidden = this.key.hidden = !any;
    this.why.hidden = any;
    this.summary.textContent = any ? this.describe(groups) : "";
    if (!any) this.why.textContent = this.whyNothing();
    this.showCurves();
    if (!any) return;
    const current = other?.step === groups.step ? other : null;
    this.previewSummary.textContent = current ? previewInWords(groups, current) : "";
    const shown = JSON.stringify([this.have, this.all, current?.choice, current?.kept]);
    if (this.drawnNow === shown) return; // a new table would take the reader's cell away
    this.drawnNow = shown;
    const title = current
      ? `cut-off of ${FilterPreview.describe(current.choice)}: score ${number(current.threshold)}`
      : "";
    const drawn = groupMatrix(groups, current, {
      all: this.all,
      address: this.addresses.trajectories ?? "",
      chooseTitle: title,
    });
    const focused = this.matrix.querySelector("a:focus")?.getAttribute("href");
    this.matrix.replaceChildren(drawn.table);
    if (focused) refocus(drawn.table, focused);
    this.more.hidden = drawn.hidden === 0;
    find(this.more, "button").textContent = `Show all ${groups.groups.length} groups`;
    this.key.replaceChildren(...keyOf(drawn.scale));
  }

  showCurves() {
    if (!this.page) return;
    const { store, view } = this.page;
    const domain = stepsShown(store, view);
    const mark = this.scrubber.step;
    /**
     * @param {string} metric
     * @param {string} name
     * @returns {Series}
     */
    const of = (metric, name, kind = "line-1") => ({ name, kind, points: store.points(metric) });
    const shares = this.other?.shares;
    const previewed = shares ? shares.steps.map((step, index) => ({ step, y: shares.chosen[index] })) : [];
    const name = this.other ? FilterPreview.describe(this.other.choice) : "";
    this.kept.draw({
      series: [of("filter/kept_ratio", "the run"), { name, kind: "line-2", points: previewed }],
      domain,
      mark,
    });
    const std = [of("reward/within_group_std", "mean over groups")];
    if (this.facts.filter.metric === "reward_variance") {
      std.push(of("filter/threshold", "least that trained", "line-2"));
    }
    this.std.draw({ series: std, domain, mark });
    this.zero.draw({ series: [of("rollout/zero_variance_share", "of all groups")], domain, mark });
  }

  /** @param {StepGroups} groups */
  describe(groups) {
    const candidates = groups.groups.filter((one) => one.score !== null).length;
    const skipped = groups.kept.length === 0 ? " Nothing trained at this step." : "";
    const lost = groups.groups.length - candidates;
    const left = lost ? ` ${lost} had no two outcomes to compare.` : "";
    if (groups.own.type === "none") {
      return `Step ${groups.step}: this run has no filter, so all ${candidates} groups were kept.${left} Below is what a filter would have kept.`;
    }
    const metric =
      this.facts.filter.metric === "reward_variance"
        ? ""
        : ` Its score is ${this.facts.filter.metric?.replaceAll("_", " ")}, not the variance.`;
    return `Step ${groups.step}: ${FilterPreview.describe(groups.own)} kept ${groups.kept.length} of ${candidates} groups.${left}${skipped}${metric}`;
  }

  whyNothing() {
    if (!this.page?.store.steps.length) return "No data yet. The groups come with the first step.";
    return "This run's engine did not keep the groups of its steps. Its recorded trajectories show their group and return.";
  }
}

/**
 * @param {StepGroups} groups
 * @param {FilterPreviewAnswer} filterPreviewAnswer
 */
function previewInWords(groups, { choice, kept, shares }) {
  const same = kept.length === groups.kept.length && kept.every((one, index) => one === groups.kept[index]);
  const mean = (/** @type {number[]} */ column) =>
    column.reduce((sum, one) => sum + one, 0) / Math.max(1, column.length);
  const often = shares.every > 1 ? ` (every ${shares.every} steps)` : "";
  const here = same
    ? kept.length
      ? "the same groups"
      : "none either"
    : `${kept.length} of these groups, where ${groups.kept.length} were kept`;
  return (
    `${capital(FilterPreview.describe(choice))} would have kept ${here}; ` +
    `over all steps ${percent(mean(shares.chosen))} of groups, where ${percent(mean(shares.kept))} were kept${often}.`
  );
}

/** @param {string} text */
const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** @param {{ low: number, high: number }} options */
function keyOf({ low, high }) {
  const shades = Array.from({ length: 9 }, (_, shade) => element("i", { class: `heat heat-${shade}` }));
  return [
    element(
      "li",
      {},
      element("span", {}, `return ${number(low)}`),
      element("span", { class: "heat-bar", "aria-hidden": "true" }, ...shades),
      element("span", {}, number(high)),
    ),
    element("li", {}, element("i", { class: "heat heat-6 swatch-kept" }), "kept"),
    element("li", {}, element("i", { class: "heat heat-6 swatch-dropped" }), "filtered out"),
  ];
}
