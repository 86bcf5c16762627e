// The Filter tab: of each step the groups and what the filter kept, and what another filter would have.

import { stepsShown } from "../../charts/step_window.js";
import { element } from "../../core/dom.js";
import { number, percent } from "../../core/format.js";
import { label } from "../../core/glossary.js";
import { goOnAt, matrix } from "../group_matrix.js";
import { SmallChart } from "../../charts/small_chart.js";
import { StepScrubber } from "../step_scrubber.js";
import { ask } from "../templates_panel.js";
import { WhatIf } from "../filter_preview.js";

const QUIET = 120; // milliseconds of sliding before the server is asked

export class FilterTab {
  constructor(panels, addresses, facts, view) {
    Object.assign(this, { panels, addresses, facts });
    const place = (name) => document.getElementById(`filter-${name}`);
    const choose = (step) => this.scrubber.chooseNear(step);
    this.scrubber = new StepScrubber("the filter", view, () => this.redraw());
    place("scrubber").append(this.scrubber.root);
    Object.assign(this, {
      said: place("said"),
      why: place("why"),
      matrix: place("matrix"),
      more: place("more"),
      key: place("key"),
    });
    this.form = document.getElementById("what-if");
    this.otherSaid = document.getElementById("what-if-said");
    this.whatIf = new WhatIf(this.form, facts.filter, facts.groups, () => this.askSoon());
    this.kept = new SmallChart({ title: "Share of groups kept", low: 0, high: 1, show: percent, onStep: choose });
    this.spread = new SmallChart({ title: label("reward/within_group_std"), low: 0, onStep: choose });
    this.zero = new SmallChart({
      title: label("rollout/zero_variance_share"),
      low: 0,
      high: 1,
      show: percent,
      onStep: choose,
    });
    place("curves").append(this.kept.panel, this.spread.panel, this.zero.panel);
    this.more.addEventListener("click", () => {
      this.all = true;
      this.show();
    });
    this.told = null;
    this.other = null;
  }

  redraw() {
    if (this.page) this.draw(this.page);
  }

  askSoon() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.redraw(), QUIET);
  }

  async draw(page) {
    this.page = page;
    const { store, view } = page;
    this.scrubber.offer(store.everyStep);
    if (this.scrubber.step !== null) await this.fetch(store);
    this.show();
    await this.panels.draw("filter", store, view, this.scrubber.step);
  }

  // The step's groups are asked for once; the other choice whenever it, the step or the number of steps changes.
  async fetch(store) {
    const step = this.scrubber.step;
    const newest = store.steps.at(-1);
    const attempt = store.steps.find((one) => one.step >= step)?.attempt; // a resumed run takes a step again
    const wanted = `${step}/${attempt}`;
    if (this.have !== wanted) {
      const told = await ask(`${this.addresses.groups}?step=${step}`);
      if (!told || this.scrubber.step !== step) return; // somebody has scrubbed on: that drawing is under way
      Object.assign(this, { told, have: wanted, all: false });
      this.whatIf.filter = told.own; // a run may change its filter on the way
    }
    const asked = `${this.whatIf.query(step)}/${newest.seq}`;
    if (this.told.step !== null && this.asked !== asked) {
      const other = await ask(`${this.addresses.whatIf}?${this.whatIf.query(step)}`);
      if (other && this.scrubber.step === step) Object.assign(this, { other, asked });
    }
  }

  show() {
    const { told, other } = this;
    const any = told?.step !== null && told !== null;
    this.form.hidden = this.otherSaid.hidden = this.matrix.hidden = this.key.hidden = !any;
    this.why.hidden = any;
    this.said.textContent = any ? this.inWords(told) : "";
    if (!any) this.why.textContent = this.whyNothing();
    this.showCurves();
    if (!any) return;
    const current = other?.step === told.step ? other : null;
    this.otherSaid.textContent = current ? otherInWords(told, current) : "";
    const shown = JSON.stringify([this.have, this.all, current?.choice, current?.kept]);
    if (this.drawnNow === shown) return; // a new table would take the reader's cell away
    this.drawnNow = shown;
    const title = current
      ? `${WhatIf.words(current.choice)} would have cut here: score ${number(current.threshold)}`
      : "";
    const drawn = matrix(told, current, { all: this.all, address: this.addresses.trajectories, chooseTitle: title });
    const read = this.matrix.querySelector("a:focus")?.getAttribute("href");
    this.matrix.replaceChildren(drawn.table);
    if (read) goOnAt(drawn.table, read);
    this.more.hidden = drawn.hidden === 0;
    this.more.firstElementChild.textContent = `Show all ${told.groups.length} groups`;
    this.key.replaceChildren(...keyOf(drawn.scale));
  }

  showCurves() {
    const { store, view } = this.page;
    const domain = stepsShown(store, view);
    const mark = this.scrubber.step;
    const of = (name, called, kind = "line-1") => ({
      name: called,
      kind,
      points: store.points(name),
    });
    const shares = this.other?.shares;
    const would = shares ? shares.steps.map((step, place) => ({ step, y: shares.chosen[place] })) : [];
    const called = shares ? WhatIf.words(this.other.choice) : "";
    this.kept.draw({
      series: [of("filter/kept_ratio", "the run"), { name: called, kind: "line-2", points: would }],
      domain,
      mark,
    });
    const spread = [of("reward/within_group_std", "mean over groups")];
    if (this.facts.filter.strategy !== "none" && this.facts.filter.metric === "reward_variance")
      spread.push(of("filter/threshold", "least that trained", "line-2"));
    this.spread.draw({ series: spread, domain, mark });
    this.zero.draw({ series: [of("rollout/zero_variance_share", "of all groups")], domain, mark });
  }

  inWords(told) {
    const candidates = told.groups.filter((one) => one.score !== null).length;
    const skipped = told.kept.length === 0 ? " Nothing trained at this step." : "";
    const lost = told.groups.length - candidates;
    const left = lost ? ` ${lost} had no two outcomes to compare.` : "";
    if (told.own.strategy === "none")
      return `Step ${told.step}: this run has no filter, so all of ${candidates} groups trained.${left} Below is what one would have kept.`;
    const metric =
      this.facts.filter.metric === "reward_variance"
        ? ""
        : ` Its score is ${this.facts.filter.metric.replaceAll("_", " ")}, not the spread.`;
    return `Step ${told.step}: ${WhatIf.words(told.own)} kept ${told.kept.length} of ${candidates} groups.${left}${skipped}${metric}`;
  }

  whyNothing() {
    if (!this.page.store.steps.length) return "No data yet: the first step brings its groups.";
    return "This run's engine did not keep the groups of its steps. The trajectories that it recorded tell their group and return.";
  }
}

function otherInWords(told, { choice, kept, shares }) {
  const same = kept.length === told.kept.length && kept.every((one, place) => one === told.kept[place]);
  const mean = (column) => column.reduce((sum, one) => sum + one, 0) / Math.max(1, column.length);
  const often = shares.every > 1 ? ` (every ${shares.every} steps looked at)` : "";
  const here = same
    ? kept.length
      ? "the very groups that trained"
      : "none either"
    : `${kept.length} of these groups, where ${told.kept.length} trained`;
  return (
    `${capital(WhatIf.words(choice))} would have kept ${here}; ` +
    `over all steps ${percent(mean(shares.chosen))} of groups, where ${percent(mean(shares.kept))} trained${often}.`
  );
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

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
    element("li", {}, element("i", { class: "heat heat-6 swatch-kept" }), "trained"),
    element("li", {}, element("i", { class: "heat heat-6 swatch-dropped" }), "left out"),
  ];
}
