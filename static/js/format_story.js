// What changed first in the form of replies: length, parse failures, invalid actions, turns. Numbers in, words out.

import { number, percent } from "./format.js";

export const BASELINE = 10; // first steps that the start is the mean of
export const LASTING = 3; // steps in a row that a sign must hold

// Each sign: what it reads, when a value is changed against the start, and how it is told.
const share = (value) => percent(value);
const tokens = (value) => `${number(value, 1)} tokens`;
const SIGNS = [
  { key: "longer", name: "rollout/reply_tokens", changed: (value, start) => value > 1.5 * start, says: "replies grew half as long again", show: tokens },
  { key: "shorter", name: "rollout/reply_tokens", changed: (value, start) => value < start / 1.5, says: "replies shrank by a third", show: tokens },
  { key: "tail", name: "rollout/reply_tokens_p95", changed: (value, start) => value > 1.5 * start, says: "the longest replies grew half as long again", show: tokens },
  { key: "cut", name: "rollout/cut_off_rate", changed: (value, start) => value > start + 0.05, says: "more replies were cut off at their limit", show: share },
  { key: "parse", name: "rollout/parse_ok_rate", changed: (value, start) => value < 0.9 * start, says: "parse failures rose", show: (value) => `${percent(1 - value)} of replies` },
  { key: "invalid", name: "rollout/invalid_action_rate", changed: (value, start) => value > start + 0.1, says: "more replies named actions that do not exist", show: share },
  { key: "turns", name: "rollout/turns", changed: (value, start) => value > 1.25 * start || value < start / 1.25, says: "trajectories took another number of turns", show: (value) => `${number(value, 2)} turns` },
];

export const HOW =
  `A value counts as changed once it holds for ${LASTING} steps in a row against the mean of the first ${BASELINE} steps: ` +
  "reply length half as long again or a third shorter; 5 points more replies cut off; well-formed replies under nine tenths of the start; " +
  "10 points more replies with an unknown action; a quarter more or fewer turns. The limits of parse failures " +
  "and unknown actions are those that foretold most collapses with fewest false alarms in 22 recorded runs of RAGEN; the others are ours.";

// Signs in order of when they began: [{key, says, step, from, to, more}]. `steps` are {step, metrics}.
export function changes(steps) {
  if (steps.length <= BASELINE) return [];
  return SIGNS.map((sign) => began(sign, steps))
    .filter(Boolean)
    .sort((one, other) => one.step - other.step);
}

function began({ key, name, changed, says, show }, steps) {
  const points = steps.filter(({ metrics }) => metrics[name] !== undefined).map(({ step, metrics }) => ({ step, y: metrics[name], metrics }));
  if (points.length <= BASELINE) return null;
  const first = points.slice(0, BASELINE);
  const start = first.reduce((sum, { y }) => sum + y, 0) / BASELINE;
  for (let at = BASELINE; at + LASTING <= points.length; at += 1) {
    const run = points.slice(at, at + LASTING);
    if (!run.every(({ y }) => changed(y, start))) continue;
    const still = changed(points.at(-1).y, start);
    return { key, says, step: run[0].step, from: show(start), to: show(run[0].y), now: show(points.at(-1).y), still, worst: key === "parse" ? worstOf(run[0], first) : null };
  }
  return null;
}

// The parse failure that rose most since the start.
function worstOf({ metrics }, first) {
  const before = (name) => first.reduce((sum, one) => sum + (one.metrics[name] ?? 0), 0) / first.length;
  const rises = Object.keys(metrics)
    .filter((name) => name.startsWith("rollout/parse/") && name !== "rollout/parse/ok")
    .map((name) => ({ case: name.split("/")[2], by: metrics[name] - before(name) }))
    .sort((one, other) => other.by - one.by);
  return rises[0]?.by > 0 ? rises[0].case : null;
}

// The whole story in a sentence or two.
export function story(steps) {
  if (!steps.length) return "No data yet: the first step brings the form of its replies.";
  const now = steps.at(-1).metrics;
  const present = `${percent(now["rollout/parse_ok_rate"])} of replies are well formed, ${number(now["rollout/reply_tokens"], 1)} tokens long on average`;
  if (steps.length <= BASELINE)
    return `${capital(present)}. What changed first can be said after ${BASELINE + LASTING} steps; there are ${steps.length}.`;
  const found = changes(steps);
  if (!found.length) return `Nothing has changed since the start: ${present}.`;
  const [first, ...rest] = found;
  const then = rest.length ? ` Then ${rest.map((one) => `${one.says} (step ${one.step})`).join(", ")}.` : " Nothing else has.";
  return `First ${first.says}, at step ${first.step}: from ${first.from} to ${first.to}${first.worst ? `, mostly ${caseWord(first.worst)}` : ""}.${then} Now ${present}.`;
}

export const caseWord = (name) => name.replaceAll("_", " ");
const capital = (text) => text[0].toUpperCase() + text.slice(1);
