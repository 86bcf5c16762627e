// The form of a filter to preview: a strategy, its value, and its order of preference.

import { control } from "../core/dom.js";
import { percent } from "../core/format.js";

/** @import { FilterChoice } from "../types.js" */

/** @typedef {{ min: number, max: number, step: number, initial: number, show: (value: number) => string }} Range */

/** @type {Record<string, Range>} */
const VALUES = {
  top_p: { min: 0.05, max: 1, step: 0.05, initial: 0.8, show: (value) => value.toFixed(2) },
  top_k: { min: 0.05, max: 1, step: 0.05, initial: 0.5, show: (value) => value.toFixed(2) },
  min_p: { min: 0.05, max: 1, step: 0.05, initial: 0.5, show: (value) => value.toFixed(2) },
  top_k_absolute: { min: 1, max: 16, step: 1, initial: 4, show: (value) => String(value) },
};
/** @type {Record<string, string>} */
const MASS = { variance: "variance mass", std: "std mass", softmax: "softmax mass" };

export class FilterPreview {
  /**
   * @param {HTMLFormElement} form
   * @param {FilterChoice} filter
   * @param {number} groups
   * @param {() => void} onChange
   */
  constructor(form, filter, groups, onChange) {
    this.form = form;
    this.filter = filter;
    this.groups = groups;
    VALUES.top_k_absolute.max = groups;
    this.choice = control(form, "choice", HTMLSelectElement);
    this.slider = control(form, "value", HTMLInputElement);
    this.smallest = control(form, "smallest", HTMLInputElement);
    this.includeZero = control(form, "include_zero", HTMLInputElement);
    this.toOwn();
    form.addEventListener("submit", (event) => event.preventDefault());
    this.choice.addEventListener("change", () => {
      this.setRange(this.strategy);
      onChange();
    });
    for (const field of [this.slider, this.smallest, this.includeZero]) {
      field.addEventListener("input", () => {
        this.showValue();
        onChange();
      });
    }
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      this.toOwn();
      onChange();
    });
  }

  // The run's own settings; where it has no filter, a common one.
  toOwn() {
    const { type: strategy, mode, value, largest = true, include_zero: zero = false } = this.filter;
    const off = strategy === "none";
    const named = strategy === "top_p" ? `top_p ${mode}` : `${strategy} variance`;
    this.choice.value = off ? "top_p variance" : named;
    this.smallest.checked = !largest;
    this.includeZero.checked = zero;
    this.setRange(this.strategy, off ? undefined : value);
  }

  /**
   * @param {string} strategy
   * @param {number=} value
   */
  setRange(strategy, value) {
    const kind = VALUES[strategy];
    const label = this.slider.closest("label");
    if (label) label.hidden = !kind;
    if (!kind) return;
    // a value of the run's own may lie between two steps of the slider
    const step =
      value === undefined || Number.isInteger(Math.round((1e6 * value) / kind.step) / 1e6) ? kind.step : "any";
    const [min, max] = [Math.min(kind.min, value ?? kind.min), Math.max(kind.max, value ?? 0)];
    Object.assign(this.slider, { min: String(min), max: String(max), step: String(step) });
    this.slider.value = String(value ?? Math.min(kind.initial, kind.max));
    this.showValue();
  }

  showValue() {
    control(this.form, "shown", HTMLOutputElement).textContent = VALUES[this.strategy]?.show(this.value) ?? "";
  }

  get strategy() {
    return this.choice.value.split(" ")[0];
  }

  get value() {
    return Number(this.slider.value);
  }

  /** @param {number} step */
  query(step) {
    const [strategy, mode] = this.choice.value.split(" ");
    return new URLSearchParams({
      step: String(step),
      type: strategy,
      mode,
      value: String(this.value),
      largest: this.smallest.checked ? "0" : "1",
      include_zero: this.includeZero.checked ? "1" : "0",
    });
  }

  /**
   * Describes a filter.
   * @param {FilterChoice} filterChoice
   */
  static describe({ type, mode = "", value = 0, largest = true }) {
    const order = largest ? "" : ", smallest first";
    /** @type {Record<string, string>} */
    const descriptions = {
      none: "no filter",
      top_p: `top-p ${short(value)} of ${MASS[mode]}`,
      top_k: `top-k of ${percent(value)} of groups`,
      top_k_absolute: `top-k of ${short(value)} groups`,
      min_p: `min-p ${short(value)} of the best`,
    };
    return `${descriptions[type]}${order}`;
  }
}

/** @param {number} value */
const short = (value) => String(Number(value.toPrecision(4)));
