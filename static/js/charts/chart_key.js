// The key of a chart: its lines with their values at the crosshair, and without one the newest.

import { coordinate } from "./positions.js";
import { element } from "../core/dom.js";
import { number } from "../core/format.js";
import { label } from "../core/glossary.js";

/** @import { ChartPage, ChartSpec, HeldOutResult, Point, Position } from "../types.js" */

const COLOURS = 8;

/** @param {number} index */
export const colour = (index) => (index % COLOURS) + 1;

/** @typedef {{ entry: HTMLElement, value: HTMLElement, name: string }} KeyEntry */

export class ChartKey {
  /**
   * @param {Pick<ChartSpec, "names" | "heldOut">} spec
   * @param {boolean} isTitled whether lines are named here, and not by the title
   */
  constructor({ names, heldOut = [] }, isTitled) {
    this.root = element("ul", { class: "chart-key" });
    this.lines = isTitled ? names.map((name, index) => keyEntry(name, colour(index), label(name))) : [];
    this.evaluations = heldOut.map((tag) => keyEntry(tag, 2, label(`eval/${tag}/success`), ", 95% interval"));
    this.requested = heldOut.map((tag) => requestedEntry(tag));
    this.root.append(...this.all.map(({ entry }) => entry));
  }

  get all() {
    return [...this.lines, ...this.evaluations, ...this.requested];
  }

  /**
   * Hides the lines that have no data.
   * @param {ChartPage["store"]["curves"]} curves
   * @param {boolean} loaded
   */
  offer(curves, loaded) {
    for (const { entry, name } of this.lines) entry.hidden = loaded && !curves.points(name).length;
  }

  /**
   * The values at a position, or the newest; all of them as a sentence.
   * @param {ChartPage["store"]} store
   * @param {Position | null} position
   * @param {(name: string) => Point | null | undefined} pointOf
   */
  show(store, position, pointOf) {
    for (const { value, name } of this.lines) value.textContent = valueOf(pointOf(name), position);
    for (const entry of this.evaluations) showResult(entry, store.evaluations, position);
    for (const entry of this.requested) {
      entry.entry.hidden = !showResult(entry, store.requestedEvaluations, position);
    }
    return this.all
      .filter(({ entry, value }) => !entry.hidden && value.textContent)
      .map(({ entry }) => entry.textContent)
      .join(", ");
  }
}

/**
 * @param {string} name
 * @param {number} index
 * @param {...(Node | string)} words
 * @returns {KeyEntry}
 */
function keyEntry(name, index, ...words) {
  const value = element("span", { class: "chart-value num" });
  return { entry: element("li", { class: `key-${index}` }, ...words, " ", value), value, name };
}

/** @param {string} tag */
function requestedEntry(tag) {
  const made = keyEntry(tag, 2, "requested evaluation, 95% interval");
  made.entry.classList.add("key--requested");
  made.entry.hidden = true;
  return made;
}

/**
 * Whether the environment of the entry has results at all.
 * @param {KeyEntry} entry
 * @param {HeldOutResult[]} results
 * @param {Position | null} position
 */
function showResult({ value, name }, results, position) {
  const found = results.filter((one) => one.environment === name);
  value.textContent = intervalOf(evaluationAt(found, position), position);
  return found.length > 0;
}

/**
 * A value, of a range of steps its mean and extremes, with its step where that is another than the crosshair's.
 * @param {Point | null | undefined} point
 * @param {Position | null} position
 */
export function valueOf(point, position) {
  if (!point) return "";
  const range = isNumber(point.low) && point.low !== point.high;
  const extremes = range ? ` (${number(point.low)} to ${number(point.high)})` : "";
  return `${number(point.y)}${extremes}${elsewhere(point, position)}`;
}

/** @param {number | null | undefined} value */
const isNumber = (value) => value !== null && value !== undefined;

/**
 * @param {{ step: number, first?: number | null, lineage?: number }} point
 * @param {Position | null} position
 */
function elsewhere(point, position) {
  if (!position || coordinate(/** @type {Position} */ (point), "lineage") === coordinate(position, "lineage")) {
    return "";
  }
  return (point.first ?? point.step) <= position.step && position.step <= point.step ? "" : ` at ${point.step}`;
}

/**
 * The last evaluation that is not after a position; without one the newest.
 * @param {HeldOutResult[]} evaluations
 * @param {(Position & { of?: string }) | null} position
 */
export function evaluationAt(evaluations, position) {
  if (position?.of) return undefined; // a step of an ancestor
  return position ? evaluations.findLast(({ step }) => step <= position.step) : evaluations.at(-1);
}

/**
 * @param {HeldOutResult | undefined} evaluation
 * @param {Position | null} position
 */
function intervalOf(evaluation, position) {
  if (!evaluation) return "";
  const { success, low, high, step } = evaluation;
  const where = position && position.step !== step ? ` at ${step}` : "";
  return `${number(success)} [${number(low)}, ${number(high)}]${where}`;
}
