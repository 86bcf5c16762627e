// A slider and a number field over the steps that there is something to show of. What is chosen is the page's: every
// view shows the step nearest to it that it has. Until somebody chooses, all stay at the newest.

import { element } from "../core/dom.js";

export class StepScrubber {
  // `what` names what is scrubbed through; `view` keeps the choice; `onStep(step)` is called when somebody chooses
  constructor(what, view, onStep) {
    Object.assign(this, { view, onStep });
    this.steps = [];
    this.range = element("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": `Step of ${what}` });
    const number = { type: "number", min: 0, step: 1, inputmode: "numeric", "aria-label": `Number of the step` };
    this.told = element("input", { ...number, class: "mono scrubber-step" });
    this.note = element("span", { class: "scrubber-note muted", role: "status" });
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
    this.told.addEventListener("input", () => (this.typing = true));
    this.told.addEventListener("change", () => {
      this.typing = false;
      this.choose(typed(this.told.value));
    });
    this.told.addEventListener("blur", () => {
      this.typing = false;
      this.show();
    });
    this.root = element(
      "div",
      { class: "scrubber", role: "group", "aria-label": `Step of ${what}` },
      element("label", { class: "muted" }, "step ", this.told),
      move("Earlier", -1),
      this.range,
      move("Later", 1),
      this.newest,
      this.note,
    );
  }

  // The step that is shown; null while there is none.
  get step() {
    return this.steps[this.place()] ?? null;
  }

  // of the step that is nearest to the chosen one, the earlier of two
  place(chosen = this.view.step) {
    const { steps } = this;
    const after = chosen === null ? -1 : steps.findIndex((step) => step >= chosen);
    if (after < 1) return after < 0 ? steps.length - 1 : 0;
    return steps[after] - chosen < chosen - steps[after - 1] ? after : after - 1;
  }

  // What can be chosen now.
  offer(steps) {
    this.steps = steps;
    this.range.max = Math.max(0, steps.length - 1);
    this.range.disabled = this.told.disabled = steps.length < 2;
    this.show();
  }

  // for a hand that points about at a step
  chooseNear(step) {
    this.choose(this.steps[this.place(step)]);
  }

  choose(step) {
    if (step === undefined) return this.show();
    this.view.look({ step });
    this.show();
    this.onStep(this.step);
  }

  show() {
    const { step } = this;
    const chosen = this.view.step;
    this.range.value = this.place();
    this.range.setAttribute("aria-valuetext", step === null ? "none yet" : `step ${step}`);
    if (!this.typing) this.told.value = step ?? ""; // news takes nothing away from whoever types
    this.newest.setAttribute("aria-pressed", String(chosen === null));
    const note = chosen === null || step === null || chosen === step ? "" : `Step ${chosen} has none: this is the nearest.`;
    if (this.note.textContent !== note) this.note.textContent = note;
  }
}

const typed = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);
