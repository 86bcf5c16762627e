// What changed first in the form of responses: length, parse failures, invalid actions, turns. Numbers in, words out.

import { number, percent } from "../core/format.js";
import { stepsInWords } from "../charts/step_range.js";

/** @import { Metrics, StepRow } from "../types.js" */

export const LASTING = 3; // steps in a row that a sign must hold

/**
 * First steps that the start is the mean of: a fifth of a short run, so that little of what it is to show lies in it.
 * @param {number} total
 */
export const baselineOf = (total) => Math.max(3, Math.min(10, Math.floor(total / 5)));

/**
 * Each sign: what it reads, when a value is changed against the start, and how it is told.
 * @param {number} value
 */
const share = (value) => percent(value);
/** @param {number} value */
const tokens = (value) => `${number(value, 1)} tokens`;
/** @param {number} value */
const turns = (value) => number(value, 2);
/**
 * @typedef {object} Sign
 * @property {string} key
 * @property {string} name
 * @property {(value: number, start: number) => boolean} changed
 * @property {string} says
 * @property {(value: number) => string} show
 */

/** @typedef {Pick<StepRow, "step" | "first" | "metrics">} FormatRow */
/** @typedef {{ step: number, first?: number, y: number, metrics: Metrics }} FormatPoint */
/** @typedef {NonNullable<ReturnType<typeof began>>} FormatChange */

/** @type {Sign[]} */
const SIGNS = [
  {
    key: "longer",
    name: "rollout/response_tokens",
    changed: (value, start) => value > 1.5 * start,
    says: "responses grew half as long again",
    show: tokens,
  },
  {
    key: "shorter",
    name: "rollout/response_tokens",
    changed: (value, start) => value < start / 1.5,
    says: "responses shrank by a third",
    show: tokens,
  },
  {
    key: "tail",
    name: "rollout/response_tokens_p95",
    changed: (value, start) => value > 1.5 * start,
    says: "the longest responses grew half as long again",
    show: tokens,
  },
  {
    key: "cut",
    name: "rollout/cut_off_rate",
    changed: (value, start) => value > start + 0.05,
    says: "more responses were cut off at their limit",
    show: share,
  },
  {
    key: "parse",
    name: "rollout/parse_ok_rate",
    changed: (value, start) => value < 0.9 * start,
    says: "parse failures rose",
    show: (value) => `${percent(1 - value)} of responses`,
  },
  {
    key: "invalid",
    name: "rollout/invalid_action_rate",
    changed: (value, start) => value > start + 0.1,
    says: "more responses named actions that do not exist",
    show: share,
  },
  {
    key: "more",
    name: "rollout/turns",
    changed: (value, start) => value > 1.25 * start,
    says: "trajectories took more turns",
    show: turns,
  },
  {
    key: "fewer",
    name: "rollout/turns",
    changed: (value, start) => value < start / 1.25,
    says: "trajectories took fewer turns",
    show: turns,
  },
];

/**
 * @param {number} total
 * @param {FormatRow[]} steps
 */
export const how = (total, steps = []) =>
  `${steps.some((one) => (one.first ?? Infinity) < one.step) ? "Of this long run stretches of steps are judged by their means. " : "" 
  }A value counts as changed once it holds for ${LASTING} steps in a row against the mean of the first ${baselineOf(total)} steps: ` +
  `response length half as long again or a third shorter; 5 points more responses cut off; well-formed responses under nine tenths of the start; ` +
  `10 points more responses with an unknown action; a quarter more or fewer turns. The limits of parse failures ` +
  `and unknown actions are those that foretold most collapses with fewest false alarms in 22 recorded runs of RAGEN; the others are ours.`;

/**
 * Signs in order of when they began: [{key, says, step, first, from, to, now, still, worst}]. `steps` are {step, metrics},
 * of a stretch of steps with its `first`, of a run that is to have `total`.
 * @param {FormatRow[]} steps
 * @param {number} total
 */
export function changes(steps, total) {
  return SIGNS.map((sign) => began(sign, steps, baselineOf(total)))
    .flatMap((one) => one ?? [])
    .sort((one, other) => one.step - other.step);
}

/**
 * @param {Sign} sign
 * @param {FormatRow[]} steps
 * @param {number} baseline
 */
function began({ key, name, changed, says, show }, steps, baseline) {
  const points = steps
    .filter(({ metrics }) => metrics[name] !== undefined)
    .map(({ step, first, metrics }) => ({ step, first, y: metrics[name], metrics }));
  if (points.length <= baseline) return null;
  const first = points.slice(0, baseline);
  const start = first.reduce((sum, { y }) => sum + y, 0) / baseline;
  for (let at = baseline; at + LASTING <= points.length; at += 1) {
    const run = points.slice(at, at + LASTING);
    if (!run.every(({ y }) => changed(y, start))) continue;
    const still = changed(points[points.length - 1].y, start);
    return {
      key,
      says,
      step: run[0].step,
      first: run[0].first,
      from: show(start),
      to: show(run[0].y),
      now: show(points[points.length - 1].y),
      still,
      worst: key === "parse" ? worstOf(run[0], first) : null,
    };
  }
  return null;
}

/**
 * The parse failure that rose most since the start.
 * @param {FormatPoint} formatPoint
 * @param {FormatPoint[]} first
 */
function worstOf({ metrics }, first) {
  const before = (/** @type {string} */ name) => first.reduce((sum, one) => sum + (one.metrics[name] ?? 0), 0) / first.length;
  const rises = Object.keys(metrics)
    .filter((name) => name.startsWith("rollout/parse/") && name !== "rollout/parse/ok")
    .map((name) => ({ case: name.split("/")[2], by: metrics[name] - before(name) }))
    .sort((one, other) => other.by - one.by);
  return rises[0]?.by > 0 ? rises[0].case : null;
}

/**
 * The whole story in a sentence or two.
 * @param {FormatRow[]} steps
 * @param {number} total
 */
export function story(steps, total) {
  if (!steps.length) return "No data yet: the first step brings the form of its responses.";
  const now = steps[steps.length - 1].metrics;
  const present = `${percent(now["rollout/parse_ok_rate"])} of responses are well formed, ${number(now["rollout/response_tokens"], 1)} tokens long on average`;
  const enough = baselineOf(total) + LASTING;
  if (steps.length < enough) return `${capital(present)}. What changed first can be said from step ${enough} on.`;
  const found = changes(steps, total);
  if (!found.length) return `Nothing has changed since the start: ${present}.`;
  const firsts = found.filter((one) => one.step === found[0].step);
  const rest = found.filter((one) => one.step !== found[0].step);
  const then = rest.length ? ` Then ${listed(rest.map((one) => `${one.says} (${stepsInWords(one)})`))}.` : "";
  return `First, at ${stepsInWords(found[0])}, ${listed(firsts.map(told))}.${then} Now ${present}.`;
}

/** @param {{ says: string, from: string, to: string, worst: string | null }} options */
function told({ says, from, to, worst }) {
  return `${says} (${from} → ${to}${worst ? `, mostly ${caseWord(worst)}` : ""})`;
}

/** @param {string[]} parts */
function listed(parts) {
  return parts.length < 2 ? parts.join("") : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`;
}

/** @param {string} name */
export const caseWord = (name) => name.replaceAll("_", " ");
/** @param {string} text */
const capital = (text) => text[0].toUpperCase() + text.slice(1);
