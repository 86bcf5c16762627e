// The window of all charts: by keys half of it or twice, around the marked point where there is one; and as steps.

import { coordinate } from "./curves.js";

const FACTORS = { "+": 0.5, "=": 0.5, "-": 2 };

/** What a key makes of the window: [from, to] along the axis, null for the whole, undefined where it is no such key. */
export function windowByKey(key, { store, view }, marked) {
  if (key === "0") return null;
  const factor = FACTORS[key];
  const ends = store.curves.ends(view.axis);
  if (!factor || !ends) return undefined;
  const { first, last, steps } = ends;
  const [from, to] = view.window ?? [first, last];
  const middle = marked ? coordinate(marked, view.axis) : (from + to) / 2;
  const next = [middle - factor * (middle - from), middle + factor * (to - middle)];
  const [low, high] = [Math.max(first, next[0]), Math.min(last, next[1])];
  if (low <= first && high >= last) return null;
  const least = (2 * (last - first)) / steps; // about two steps
  return high - low < least ? [from, to] : [low, high];
}

/** The window between two steps, along the axis that charts have now; at least about one step. */
export function windowOfSteps([from, to], { store, view }) {
  const end = to - from < 1 ? from + 1 : to;
  if (view.axis === "step") return [from, end];
  const ends = [from, end].map((step) => store.curves.place(step)).filter(Boolean);
  return ends.length === 2 ? ends.map((place) => coordinate(place, view.axis)) : view.window;
}

/** The first and last step that charts over steps show: those of the window, as far as the run has them, or all. */
export function stepsShown(store, view) {
  const last = Math.max(2, store.last);
  if (!view.window) return [1, last];
  const [from, to] = view.axis === "step" ? view.window : store.curves.stepsBetween(view.axis, view.window);
  const first = Math.min(Math.max(1, Math.floor(from)), last - 1);
  return [first, Math.max(first + 1, Math.min(last, Math.ceil(to)))];
}
