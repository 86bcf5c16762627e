// Where each of the last steps spent its time, as stacked bars; the tallest fills the height.

import { element, svg } from "../core/dom.js";
import { duration, number } from "../core/format.js";

/** @import { StepCompleted } from "../types.js" */

/** @typedef {{ step: number, step_seconds: number, times: Record<string, number>, total: number }} StepTimes */

// in the order that a step has them; all are metrics `time/<phase>` of the glossary
// "waiting" is what is left between a step and the one before it: pauses, and the engine's start after a fault
const PHASES = [
  "rollout",
  "score",
  "diagnostics",
  "gradients",
  "update",
  "sync",
  "capture",
  "evaluation",
  "checkpoint",
  "waiting",
];
const BETWEEN = ["evaluation", "checkpoint", "waiting"]; // not within a step
const LEAST_WAITING = 0.1; // of a step, from which on waiting is drawn
const LONG = 4; // steps of more times the median are cut off at the top
const SHOWN = 48;

/**
 * @param {HTMLElement} target
 * @param {HTMLElement} key
 * @param {{ steps: StepCompleted[] }} options
 */
export function drawPhases(target, key, { steps }) {
  const recent = timesOf(steps).slice(-SHOWN);
  const signature = JSON.stringify([recent.length, recent.at(-1)]);
  if (target.dataset.shown === signature) return;
  target.dataset.shown = signature;
  const tallest = Math.max(0.001, ...recent.map((one) => Math.min(one.total, LONG * median(recent))));
  const width = 100 / SHOWN;
  const bars = recent.flatMap((one, index) => {
    let top = 100;
    return PHASES.filter((phase) => one.times[phase]).map((phase) => {
      const height = Math.min(top, (95 * one.times[phase]) / tallest);
      top -= height;
      const bar = { x: index * width, y: top, width: width * 0.8, height };
      const box = Object.fromEntries(Object.entries(bar).map(([name, value]) => [name, value.toFixed(2)]));
      const words = `step ${one.step}, ${phase}: ${number(one.times[phase])} s`;
      return svg("rect", { class: `phase-${phase}`, ...box }, svg("title", {}, words));
    });
  });
  const attributes = { viewBox: "0 0 100 100", preserveAspectRatio: "none", role: "img" };
  target.replaceChildren(svg("svg", { ...attributes, "aria-label": "Time of each phase in the last steps" }, ...bars));
  key.replaceChildren(...legend(recent));
}

/** @param {StepTimes[]} recent */
function legend(recent) {
  const newest = recent.at(-1);
  const spent = PHASES.filter((phase) => recent.some((one) => one.times[phase]));
  const rows = spent.map((phase) => {
    const sample = svg("rect", { class: `phase-${phase}`, width: 10, height: 10, rx: 2 });
    const seconds = newest?.times[phase];
    const words = seconds === undefined ? "–" : `${number(seconds, 2)} s`;
    return element("li", {}, svg("svg", { viewBox: "0 0 10 10" }, sample), `${phase} ${words}`);
  });
  return newest ? [...rows, element("li", {}, `step ${duration(newest.step_seconds)}`)] : rows;
}

/**
 * Seconds of each step by phase; what came between it and the step before counts as its own.
 * @param {Pick<StepCompleted, "step" | "time" | "metrics">[]} steps
 * @returns {StepTimes[]}
 */
export function timesOf(steps) {
  return steps.map((one, index) => {
    const recorded = (/** @type {string} */ phase) => one.metrics[`time/${phase}`] ?? 0;
    /** @type {Record<string, number>} */
    const times = Object.fromEntries(PHASES.flatMap((phase) => (recorded(phase) ? [[phase, recorded(phase)]] : [])));
    const before = steps[index - 1];
    // phases within the step may sum to more than it took: a weight sync for an evaluation comes before it
    const within = PHASES.reduce((sum, phase) => (BETWEEN.includes(phase) ? sum : sum + recorded(phase)), 0);
    const spent = Math.max(recorded("step"), within) + recorded("evaluation") + recorded("checkpoint");
    const idle = before ? one.time - before.time - spent : 0;
    if (idle > LEAST_WAITING * recorded("step")) times.waiting = idle;
    const total = Object.values(times).reduce((sum, value) => sum + value, 0);
    return { step: one.step, step_seconds: one.metrics["time/step"], times, total };
  });
}

/** @param {StepTimes[]} all */
function median(all) {
  const sorted = all.map((one) => one.total).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}
