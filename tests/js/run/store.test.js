import assert from "node:assert/strict";
import { test } from "node:test";

import { Curves } from "../../../static/js/charts/curves.js";
import { RunStore } from "../../../static/js/run/store.js";

/** @import { AlertRaised, EvaluationCompleted, RunStarted, StepCompleted } from "../../../static/js/types.js" */

const store = () => new RunStore(new Curves("/bands", 0, () => {}));

/** @returns {StepCompleted} */
const completed = (/** @type {number} */ seq, /** @type {number} */ step, /** @type {number} */ time, attempt = 1) => ({
  kind: "step_completed",
  seq,
  step,
  time,
  tokens: 100 * step,
  seconds: 2 * step,
  attempt,
  metrics: { "rollout/success": step / 10 },
});

/** @returns {RunStarted} */
const started = (
  /** @type {number} */ seq,
  /** @type {number} */ attempt,
  /** @type {number | null} */ from = null,
) => ({
  kind: "run_started",
  seq,
  time: seq,
  attempt,
  resumed_from: from,
});

/** @returns {AlertRaised} */
const alert = (/** @type {number} */ seq, /** @type {number} */ step) => ({
  kind: "alert_raised",
  seq,
  time: seq,
  step,
  severity: "warn",
  rule: "entropy",
  metric: "policy/entropy",
  message: "low",
});

/** @returns {EvaluationCompleted} */
const evaluated = (/** @type {number} */ seq, /** @type {number} */ step, /** @type {number} */ success) => ({
  kind: "evaluation_completed",
  seq,
  time: seq,
  step,
  environment: "lake",
  episodes: 100,
  success,
  low: 0,
  high: 1,
});

test("an event counts once, whether the socket or polling brought it", () => {
  const run = store();
  assert.equal(run.add([started(1, 1), completed(2, 1, 10)]).length, 2);
  assert.equal(run.add([completed(2, 1, 10), completed(3, 2, 12)]).length, 1);
  assert.deepEqual(
    run.steps.map(({ step }) => step),
    [1, 2],
  );
  assert.deepEqual([...run.keys], ["rollout/success"]);
});

test("an attempt that resumes drops what came after its checkpoint", () => {
  const run = store();
  run.add([
    started(1, 1),
    completed(2, 1, 10),
    completed(3, 2, 12),
    alert(4, 2),
    evaluated(5, 2, 0.5),
    started(6, 2, 1),
  ]);
  assert.deepEqual([run.steps.length, run.alerts.length, run.evaluations.length], [1, 0, 0]);
});

test("a step or an evaluation that comes again replaces the former one", () => {
  const run = store();
  run.add([completed(1, 1, 10), completed(2, 2, 12), completed(3, 2, 15), evaluated(4, 2, 0.5), evaluated(5, 2, 0.75)]);
  assert.deepEqual(
    run.steps.map(({ time }) => time),
    [10, 15],
  );
  assert.deepEqual(
    run.evaluations.map(({ success }) => success),
    [0.75],
  );
});

test("of requested evaluations the newest of a step counts, in the order of steps", () => {
  const run = store();
  const requested = (/** @type {Parameters<typeof evaluated>} */ ...given) => ({
    ...evaluated(...given),
    kind: /** @type {const} */ ("checkpoint_evaluated"),
  });
  run.add([
    completed(1, 1, 10),
    completed(2, 2, 12),
    requested(3, 2, 0.5),
    requested(4, 1, 0.25),
    requested(5, 2, 0.75),
  ]);
  assert.deepEqual(
    run.requestedEvaluations.map(({ step, success }) => [step, success]),
    [
      [1, 0.25],
      [2, 0.75],
    ],
  );
  assert.deepEqual(run.evaluations, []);
});

test("the outline adds steps without giving them to the curves", () => {
  const run = store();
  run.begin({ events: [completed(1, 1, 10)], keys: ["a", "b"], last_seq: 9 });
  assert.equal(run.curves.length, 0);
  assert.equal(run.lastStep(), 1);
  assert.equal(run.add([completed(9, 2, 12)]).length, 0); // known to the outline
});

test("the pace leaves out pauses and restarts", () => {
  const run = store();
  // gaps 2, 2, 100 (a pause), then another attempt
  const times = [0, 2, 4, 104];
  run.add([...times.map((time, i) => completed(i + 1, i + 1, time)), completed(5, 5, 900, 2), completed(6, 6, 902, 2)]);
  assert.equal(run.pace(), 2); // gaps 2, 2, 100 and 2; the median is 2, so that 100 is a pause
});

test("the pace of one step is the training time of it; before it there is none", () => {
  const run = store();
  assert.equal(run.pace(), null);
  run.add([completed(1, 1, 10)]);
  assert.equal(run.pace(), 2); // 2 s of training over 1 step
});
