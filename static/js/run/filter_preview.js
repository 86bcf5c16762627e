// The form that asks what another filter would have kept: a strategy, its value, and what it prefers.

import { percent } from "../core/format.js";

const VALUES = {
  top_p: { min: 0.05, max: 1, step: 0.05, of: 0.8, show: (value) => value.toFixed(2) },
  top_k: { min: 0.05, max: 1, step: 0.05, of: 0.5, show: (value) => value.toFixed(2) },
  min_p: { min: 0.05, max: 1, step: 0.05, of: 0.5, show: (value) => value.toFixed(2) },
  top_k_absolute: { min: 1, max: 16, step: 1, of: 4, show: (value) => String(value) },
};
const MASS = { variance: "variance mass", std: "std mass", softmax: "softmax mass" };

export class WhatIf {
  constructor(form, filter, groups, onChange) {
    Object.assign(this, { form, filter, groups });
    VALUES.top_k_absolute.max = groups;
    this.toOwn();
    form.addEventListener("submit", (event) => event.preventDefault());
    form.elements.choice.addEventListener("change", () => {
      this.setRange(this.strategy);
      onChange();
    });
    for (const name of ["value", "smallest", "include_zero"])
      form.elements[name].addEventListener("input", () => {
        this.tell();
        onChange();
      });
    form.addEventListener("reset", (event) => {
      event.preventDefault();
      this.toOwn();
      onChange();
    });
  }

  // The run's own settings; where it has no filter, a common one.
  toOwn() {
    const { strategy, mode, value, largest, include_zero: zero } = this.filter;
    const off = strategy === "none";
    const named = strategy === "top_p" ? `top_p ${mode}` : `${strategy} variance`;
    this.form.elements.choice.value = off ? "top_p variance" : named;
    this.form.elements.smallest.checked = !largest;
    this.form.elements.include_zero.checked = zero;
    this.setRange(this.strategy, off ? undefined : value);
  }

  setRange(strategy, value) {
    const kind = VALUES[strategy];
    this.form.elements.value.closest("label").hidden = !kind;
    if (!kind) return;
    const range = this.form.elements.value;
    // a value of the run's own may lie between two steps of the slider
    const step =
      value === undefined || Number.isInteger(Math.round((1e6 * value) / kind.step) / 1e6) ? kind.step : "any";
    Object.assign(range, { min: Math.min(kind.min, value ?? kind.min), max: Math.max(kind.max, value ?? 0), step });
    range.value = value ?? Math.min(kind.of, kind.max);
    this.tell();
  }

  tell() {
    this.form.elements.told.textContent = VALUES[this.strategy]?.show(this.value) ?? "";
  }

  get strategy() {
    return this.form.elements.choice.value.split(" ")[0];
  }

  get value() {
    return Number(this.form.elements.value.value);
  }

  query(step) {
    const [strategy, mode] = this.form.elements.choice.value.split(" ");
    const { smallest, include_zero: zero } = this.form.elements;
    const asked = {
      step,
      strategy,
      mode,
      value: this.value,
      largest: smallest.checked ? 0 : 1,
      include_zero: zero.checked ? 1 : 0,
    };
    return new URLSearchParams(asked);
  }

  // The choice in words, of the server's answer.
  static words({ strategy, mode, value, largest }) {
    const order = largest ? "" : ", smallest first";
    const told = {
      none: "no filter",
      top_p: `top-p ${short(value)} of ${MASS[mode]}`,
      top_k: `top-k of ${percent(value)} of groups`,
      top_k_absolute: `top-k of ${short(value)} groups`,
      min_p: `min-p ${short(value)} of the best`,
    };
    return `${told[strategy]}${order}`;
  }
}

const short = (value) => String(Number(value.toPrecision(4)));
