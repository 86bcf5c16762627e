// A slider over the steps that there is something to show of. It stays at the newest until somebody moves it, and then
// where it was put.

import { element } from "./dom.js";

export class StepScrubber {
  // `onStep(step)` is called when somebody chooses; `what` names what is scrubbed through
  constructor(what, onStep) {
    this.onStep = onStep;
    this.steps = [];
    this.chosen = null; // a step; null follows the newest
    this.range = element("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": `Step of ${what}` });
    this.told = element("output", { class: "mono scrubber-step" }, "–");
    const move = (word, by) => {
      const button = element(
        "button",
        { class: "button button--small", type: "button", "aria-label": `${word} step` },
        by < 0 ? "‹" : "›",
      );
      button.addEventListener("click", () => this.choose(this.steps[this.place() + by]));
      return button;
    };
    this.newest = element(
      "button",
      { class: "button button--small", type: "button", "aria-pressed": "true" },
      "Newest",
    );
    this.newest.addEventListener("click", () => this.choose(null));
    this.range.addEventListener("input", () => this.choose(this.steps[Number(this.range.value)]));
    this.root = element(
      "div",
      { class: "scrubber", role: "group", "aria-label": `Step of ${what}` },
      element("span", { class: "muted" }, "step"),
      this.told,
      move("Earlier", -1),
      this.range,
      move("Later", 1),
      this.newest,
    );
  }

  // The step that is shown; null while there is none.
  get step() {
    return this.steps[this.place()] ?? null;
  }

  place() {
    if (this.chosen === null) return this.steps.length - 1;
    const after = this.steps.findIndex((step) => step > this.chosen);
    return after === -1 ? this.steps.length - 1 : Math.max(0, after - 1);
  }

  // What can be chosen now. A choice that a resumed run has forgotten moves to the step before it.
  offer(steps) {
    this.steps = steps;
    this.range.max = Math.max(0, steps.length - 1);
    this.range.disabled = steps.length < 2;
    this.show();
  }

  choose(step) {
    if (step === undefined) return;
    this.chosen = step;
    this.show();
    this.onStep(this.step);
  }

  show() {
    const step = this.step;
    this.range.value = this.place();
    this.range.setAttribute("aria-valuetext", step === null ? "none yet" : `step ${step}`);
    this.told.textContent = step === null ? "–" : String(step);
    this.newest.setAttribute("aria-pressed", String(this.chosen === null));
  }
}
