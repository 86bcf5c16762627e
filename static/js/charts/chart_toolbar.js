// The tools over the charts: axis, smoothing, outliers, and reset.

import { byId } from "../core/dom.js";

/** @import { Axis } from "../types.js" */
/** @import { RunView } from "../run/view_state.js" */

const WITH_SCRUBBER = ["collapse", "filter", "rollouts"];

/**
 * Shows `view` in the tools; `onChange()` is called after the reader changed it. Returns a function that shows it again.
 * @param {RunView} view
 * @param {() => void} onChange
 */
export function prepareChartTools(view, onChange) {
  const axis = byId("x-axis", HTMLSelectElement);
  const smoothing = byId("smoothing", HTMLInputElement);
  const outliers = byId("outliers", HTMLInputElement);
  const chosen = document.getElementById("chosen-step");
  const reset = byId("reset-zoom");
  /** @param {Partial<RunView>} changes */
  const change = (changes) => {
    view.look(changes);
    show();
    onChange();
  };
  if (![...axis.options].some(({ value }) => value === view.axis)) view.axis = "step"; // of an address of other runs
  const show = () => {
    axis.value = view.axis;
    smoothing.value = String(view.smoothing);
    outliers.checked = view.outliers;
    byId("smoothing-value").textContent = view.smoothing.toFixed(2);
    reset.hidden = !view.window && !view.stretched;
    if (!chosen) return; // a page without scrubbers
    chosen.hidden = view.step === null || WITH_SCRUBBER.includes(view.tab);
    chosen.textContent = `step ${view.step} ✕`;
  };
  show();
  axis.addEventListener("change", () => change({ axis: /** @type {Axis} */ (axis.value) }));
  smoothing.addEventListener("input", () => change({ smoothing: Number(smoothing.value) }));
  outliers.addEventListener("change", () => change({ outliers: outliers.checked }));
  chosen?.addEventListener("click", () => change({ step: null }));
  reset.addEventListener("click", () => {
    view.reset();
    show();
    onChange();
  });
  prepareOpener();
  return show;
}

/** Where there is little room, a button opens the tools as a menu. */
function prepareOpener() {
  const opener = document.getElementById("tools-opener");
  const body = document.getElementById("tools-body");
  if (!opener || !body) return;
  const set = (/** @type {boolean} */ open) => {
    opener.setAttribute("aria-expanded", String(open));
    body.toggleAttribute("data-open", open);
  };
  opener.addEventListener("click", () => set(opener.getAttribute("aria-expanded") !== "true"));
  addEventListener("click", ({ target }) => {
    if (target instanceof Node && !opener.contains(target) && !body.contains(target)) set(false);
  });
  body.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !body.hasAttribute("data-open")) return;
    set(false);
    opener.focus();
  });
}
