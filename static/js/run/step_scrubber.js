// A slider and a number field over the steps that have data. The selected step is the page's: every view shows the
// nearest step that it has. Until the reader selects one, all follow the newest.

import { element } from "../core/dom.js";

/** @import { RunView } from "./view_state.js" */

export class StepScrubber {
  /** @type {number[]} */
  steps = [];
  /** @type {boolean} */
  typing = false;

  /**
   * `what` names the data; `view` keeps the selection; `onStep(step)` is called when the reader selects a step
   * @param {string} what
   * @param {Pick<RunView, "step" | "look">} view
   * @param {(step: number | null) => void} onStep
   */
  constructor(what, view, onStep) {
    this.view = view;
    this.onStep = onStep;
    this.range = element("input", { type: "range", min: 0, max: 0, step: 1, "aria-label": `Step of ${what}` });
    const number = { type: "number", min: 0, step: 1, inputmode: "numeric", "aria-label": `Number of the step` };
    this.field = element("input", { ...number, class: "mono scrubber-step" });
    this.note = element("span", { class: "scrubber-note muted", role: "status" });
    /**
     * @param {string} word
     * @param {number} by
     */
    const move = (word, by) => {
      const button = element(
        "button",
        { class: "button button--small", type: "button", "aria-label": `${word} step` },
        by < 0 ? "‹" : "›",
      );
      button.addEventListener("click", () => this.choose(this.steps[this.indexOf() + by]));
      return button;
    };
    this.newest = element(
      "button",
      { class: "button button--small", type: "button", "aria-pressed": "true" },
      "Newest",
    );
    this.newest.addEventListener("click", () => this.choose(null));
    this.range.addEventListener("input", () => this.choose(this.steps[Number(this.range.value)]));
    this.field.addEventListener("input", () => {
      this.typing = true;
    });
    this.field.addEventListener("change", () => {
      this.typing = false;
      this.choose(typed(this.field.value));
    });
    this.field.addEventListener("blur", () => {
      this.typing = false;
      this.show();
    });
    this.root = element(
      "div",
      { class: "scrubber", role: "group", "aria-label": `Step of ${what}` },
      element("label", { class: "muted" }, "step ", this.field),
      move("Earlier", -1),
      this.range,
      move("Later", 1),
      this.newest,
      this.note,
    );
  }

  // The step that is shown; null while there is none.
  get step() {
    return this.steps[this.indexOf()] ?? null;
  }

  /** The index of the step that is nearest to the selected one; of two, the earlier. */
  indexOf(chosen = this.view.step) {
    const { steps } = this;
    if (chosen === null) return steps.length - 1;
    const after = steps.findIndex((step) => step >= chosen);
    if (after < 1) return after < 0 ? steps.length - 1 : 0;
    return steps[after] - chosen < chosen - steps[after - 1] ? after : after - 1;
  }

  /**
   * Sets the steps that can be selected.
   * @param {number[]} steps
   */
  offer(steps) {
    this.steps = steps;
    this.range.max = String(Math.max(0, steps.length - 1));
    this.range.disabled = this.field.disabled = steps.length < 2;
    this.show();
  }

  /**
   * For a click near a step.
   * @param {number} step
   */
  chooseNear(step) {
    this.choose(this.steps[this.indexOf(step)]);
  }

  /** @param {number | null | undefined} step */
  choose(step) {
    if (step !== undefined) this.view.look({ step });
    this.show();
    if (step !== undefined) this.onStep(this.step);
  }

  show() {
    const { step } = this;
    const chosen = this.view.step;
    this.range.value = String(this.indexOf());
    this.range.setAttribute("aria-valuetext", step === null ? "none yet" : `step ${step}`);
    if (!this.typing) this.field.value = String(step ?? ""); // an update does not overwrite what is being typed
    this.newest.setAttribute("aria-pressed", String(chosen === null));
    const note =
      chosen === null || step === null || chosen === step
        ? ""
        : `Step ${chosen} has no data: this is the nearest step with data.`;
    if (this.note.textContent !== note) this.note.textContent = note;
  }
}

/** @param {string} text */
const typed = (text) => (/^\d{1,9}$/.test(text) ? Number(text) : undefined);
