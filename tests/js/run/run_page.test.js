import assert from "node:assert/strict";
import { test } from "node:test";

import { isAllowed, unsaved } from "../../../static/js/run/controls.js";
import { currentSettings, settingText } from "../../../static/js/run/current_settings.js";
import { nextDue } from "../../../static/js/run/empty_state.js";
import { percentile } from "../../../static/js/run/event_latency.js";
import { FilterPreview } from "../../../static/js/run/filter_preview.js";
import { ordered } from "../../../static/js/run/group_matrix.js";
import { eta, noticeOf } from "../../../static/js/run/header.js";
import { timesOf } from "../../../static/js/run/phase_bars.js";
import { hasEnded, isChangeable } from "../../../static/js/run/states.js";
import {
  bestOf,
  heldOutOf,
  keptForRescue,
  lastBefore,
  retainedSteps,
  standingOf,
} from "../../../static/js/run/retained_checkpoints.js";
import { whyNone } from "../../../static/js/run/alert_list.js";
import { thinned } from "../../../static/js/run/templates_panel.js";

test("controls are offered in the states in which they do something", () => {
  const running = { state: "running", requested: "run" };
  assert.deepEqual(
    ["pause", "resume", "checkpoint", "stop"].map((action) => isAllowed(action, running)),
    [true, false, true, true],
  );
  const pausing = { state: "running", requested: "pause" };
  assert.deepEqual(
    ["pause", "resume"].map((action) => isAllowed(action, pausing)),
    [false, true],
  );
  const finished = { state: "finished", requested: "run" };
  assert.deepEqual(
    ["pause", "resume", "checkpoint", "stop"].map((action) => isAllowed(action, finished)),
    [false, false, false, false],
  );
  assert.equal(isAllowed("resume", { state: "crashed", requested: "run" }), true);
});

test("what a stop may lose is what was trained since the newest checkpoint", () => {
  const steps = [1, 2, 3, 4, 5].map((step) => ({ step, seconds: 100 * step }));
  assert.deepEqual(unsaved(steps, [{ step: 1 }, { step: 3 }]), { saved: 3, steps: 2, seconds: 200 });
  assert.deepEqual(unsaved(steps, []), { saved: 0, steps: 5, seconds: 500 });
  assert.deepEqual(unsaved([], [{ step: 3 }]), { saved: 3, steps: 0, seconds: 0 });
});

test("the settings in force keep the value at launch over several changes", () => {
  const change = (/** @type {number} */ step, /** @type {number} */ was, /** @type {number} */ now) =>
    /** @type {const} */ ({
      kind: "settings_changed",
      seq: step,
      time: 0,
      step,
      revision: step,
      changes: { lr: { old: was, new: now } },
    });
  const found = currentSettings([change(3, 1, 2), change(5, 2, 4)]);
  assert.deepEqual(found.get("lr"), { original: 1, now: 4, step: 5 });
  assert.deepEqual([settingText([{}]), settingText([{}, {}]), settingText(0.5)], ["1 rule", "2 rules", "0.5"]);
});

test("the reason of a failure is not repeated beside its remedy", () => {
  const status = { key: "failed", icon: "failed", label: "Failed", reason: "Out of memory.", summary: "", alert: null };
  const failed = {
    state: "failed",
    reason: "Out of memory.",
    remedy: "Lower the batch.",
    wait_reason: "",
    stop_proof: null,
    status,
  };
  assert.equal(noticeOf(failed), "Lower the batch.");
  assert.equal(noticeOf({ ...failed, state: "paused", reason: "By ada.", remedy: "" }), "By ada.");
  assert.equal(noticeOf({ ...failed, state: "running" }), "");
});

test("what is measured every few steps is due at 1, 1 + every, 1 + 2 every", () => {
  assert.deepEqual(
    [0, 1, 5, 6, 7].map((last) => nextDue(5, last)),
    [1, 6, 6, 11, 11],
  );
});

test("percentiles are of what was drawn, rounded", () => {
  assert.deepEqual([percentile([30.4, 10, 20], 0.5), percentile([30.4, 10, 20], 0.95)], [20, 30]);
});

test("a filter is named with its value and its order", () => {
  const choice = { type: "top_p", mode: "variance", value: 0.8, largest: true, include_zero: false };
  assert.equal(FilterPreview.describe(choice), "top-p 0.8 of variance mass");
  assert.equal(
    FilterPreview.describe({ ...choice, type: "top_k", value: 0.25, largest: false }),
    "top-k of 25.0% of groups, smallest first",
  );
});

test("groups are ordered as the filter prefers them, those without a score last", () => {
  const own = { type: "top_p", mode: "std", value: 0.9, largest: true, include_zero: false };
  const groups = [0.5, null, 2, 0.5].map((score, group) => ({
    group,
    environment: "lake",
    seed: 1,
    returns: [],
    std: 0,
    score,
    kept: true,
    trajectories: [],
  }));
  assert.deepEqual(
    ordered({ own, groups }).map(({ group }) => group),
    [2, 0, 3, 1],
  );
  assert.deepEqual(
    ordered({ own: { ...own, largest: false }, groups }).map(({ group }) => group),
    [0, 3, 2, 1],
  );
});

test("the time left is the steps left at the present pace", () => {
  const state = { state: "running", seconds: 0, total_steps: 100 };
  assert.equal(eta(state, 40, 2), "ETA 2 min 0 s"); // 60 steps of 2 s
  assert.equal(eta(state, 0, null), "ETA after the first step");
  assert.equal(eta({ ...state, state: "finished", seconds: 90 }, 100, 2), "1 min 30 s of training");
});

test("what is between two steps is waiting, from a tenth of a step on", () => {
  const step = (/** @type {number} */ index, /** @type {number} */ time) => ({
    step: index,
    time,
    metrics: { "time/step": 4, "time/rollout": 3, "time/update": 1 },
  });
  const [, second, third] = timesOf([step(1, 0), step(2, 4.3), step(3, 14.3)]);
  assert.deepEqual(second.times, { rollout: 3, update: 1 }); // 0.3 s is less than 0.4
  assert.equal(third.times.waiting, 6); // 10 s, of which 4 are the step's
  assert.equal(third.total, 10);
});

test("the checkpoints that exist are those that the newest one reported", () => {
  const saved = [4, 8, 12, 16].map((step) => ({ step, kept: [step] }));
  saved[3].kept = [4, 12, 16];
  assert.deepEqual(retainedSteps(saved), [16, 12, 4]);
  assert.equal(lastBefore(saved, 12), 4); // 8 was removed
  assert.equal(lastBefore(saved, 4), null);
  assert.equal(
    bestOf([
      { step: 4, best: 4 },
      { step: 8, best: 4 },
    ]),
    4,
  );
  assert.equal(bestOf([]), null);
});

test("an alert without an earlier checkpoint says what to set, unless no setting helps", () => {
  assert.match(whyNone(6, 20), /before step 6.*checkpoint\.every to 5 or less/s);
  assert.match(whyNone(6, 0), /checkpoint\.every to 5 or less/);
  assert.doesNotMatch(whyNone(1, 20), /checkpoint\.every/); // it began with the first step
});

test("thinning keeps the newest and at most so many, evenly taken", () => {
  assert.deepEqual(thinned([1, 2, 3, 4, 5, 6, 7], 3), [1, 4, 7]);
  assert.deepEqual(thinned([1, 2], 3), [1, 2]);
});

test("an ended run is not changeable, and neither is one that is stopping", () => {
  const states = ["queued", "running", "stopping", "finished", "crashed"];
  assert.deepEqual(states.map(hasEnded), [false, false, false, true, true]);
  assert.deepEqual(states.map(isChangeable), [true, true, false, false, false]);
});

test("a checkpoint that is neither new nor best is kept for a rescue", () => {
  const saved = [
    ...[4, 8, 12, 16, 20].map((step) => ({ step, kept: /** @type {number[]} */ ([]) })),
    { step: 24, kept: [4, 8, 20, 24], best: 8 },
  ];
  assert.deepEqual(keptForRescue(saved, 2), [4]); // 24 and 20 are the newest, 8 is the best
  assert.deepEqual(keptForRescue(saved.slice(0, 3), 1), []); // what is kept is not known
});

test("a checkpoint is the best of two at least, and of none where all are below the start", () => {
  /** @type {(step: number, success: number, environment?: string) => any} */
  const one = (step, success, environment = "Lake") => ({
    ...{ environment, success, step },
    ...{ low: success - 0.06, high: success + 0.06 },
  });
  /** @type {(...evaluations: any[]) => any} */
  const store = (...evaluations) => ({
    checkpoints: [{ step: 2 }, { step: 4 }, { step: 8 }],
    ...{ evaluations, requestedEvaluations: [] },
  });
  assert.equal(standingOf(store(one(0, 0.48), one(4, 0.5)), 4), "alone");
  assert.equal(standingOf(store(one(0, 0.48), one(4, 0.5), one(8, 0.4)), 4), "best");
  // the interval of the difference is ± √(0.06² + 0.06²) = 0.085: 0.09 less is below, 0.08 less is not
  assert.equal(standingOf(store(one(0, 0.48), one(4, 0.39), one(8, 0.3)), 4), "below");
  assert.equal(standingOf(store(one(0, 0.48), one(4, 0.4), one(8, 0.3)), 4), "best");
  assert.equal(standingOf(store(one(0, 0.48), one(4, 0.09)), 4), "below");
  assert.equal(standingOf(store(one(4, 0.09), one(8, 0.05)), 4), "best"); // there was no evaluation before training
  const two = [one(0, 0.48), one(0, 0.2, "Box"), one(4, 0.1), one(4, 0.2, "Box"), one(8, 0.1)];
  assert.equal(standingOf(store(...two), 4), "best"); // it is below in one environment of two
});

test("the result of a step is the one that was requested last, for each environment", () => {
  /** @type {(environment: string, success: number, step?: number) => any} */
  const one = (environment, success, step = 4) => ({ environment, success, step });
  const store = {
    evaluations: [one("Lake", 0.2), one("Bandit", 0.9), one("Lake", 0.3, 8)],
    requestedEvaluations: [one("Lake", 0.25), one("Lake", 0.27)],
  };
  assert.deepEqual(
    heldOutOf(store, 4).map(({ environment, success }) => [environment, success]),
    [
      ["Lake", 0.27],
      ["Bandit", 0.9],
    ],
  );
});
