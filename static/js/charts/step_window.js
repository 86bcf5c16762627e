// The window that all charts share: zoomed by keys, around the marked point where there is one; and as steps.

import { coordinate } from "./positions.js";

/** @import { Ends, Position, View, Window } from "../types.js" */

/** @type {Record<string, number>} */
const FACTORS = { "+": 0.5, "=": 0.5, "-": 2 };

/**
 * The window after a key: null for the whole run, undefined where the key does not zoom.
 * @param {string} key
 * @param {{ store: { curves: { ends(axis: View["axis"]): Ends | null } }, view: Pick<View, "axis" | "window"> }} page
 * @param {Position | null} [marked]
 * @returns {Window | null | undefined}
 */
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

/**
 * The window between two steps, along the axis that charts have now; at least about one step.
 * @param {Window} steps
 * @param {{ store: { curves: { position(step: number): Position | null } }, view: Pick<View, "axis" | "window"> }} page
 * @returns {Window | null}
 */
export function windowOfSteps([from, to], { store, view }) {
  const end = to - from < 1 ? from + 1 : to;
  if (view.axis === "step") return [from, end];
  const [first, last] = [store.curves.position(from), store.curves.position(end)];
  return first && last ? [coordinate(first, view.axis), coordinate(last, view.axis)] : view.window;
}

/**
 * The first and last step that charts over steps show: those of the window, as far as the run has them, or all.
 * @param {{ last: number, curves: { stepsBetween(axis: View["axis"], window: Window): Window } }} store
 * @param {Pick<View, "axis" | "window">} view
 * @returns {Window}
 */
export function stepsShown(store, view) {
  const last = Math.max(2, store.last);
  if (!view.window) return [1, last];
  const [from, to] = view.axis === "step" ? view.window : store.curves.stepsBetween(view.axis, view.window);
  const first = Math.min(Math.max(1, Math.floor(from)), last - 1);
  return [first, Math.max(first + 1, Math.min(last, Math.ceil(to)))];
}
