import assert from "node:assert/strict";
import { test } from "node:test";

import { stepsQuery } from "../../../static/js/charts/step_range.js";
import { stepsShown, windowByKey, windowOfSteps } from "../../../static/js/charts/step_window.js";

/** @import { Axis, Position, Window } from "../../../static/js/types.js" */

/** A run of steps 1 to 101 with 10 tokens a step. */
const curves = {
  ends: (/** @type {Axis} */ axis) => ({
    first: axis === "tokens" ? 10 : 1,
    last: axis === "tokens" ? 1010 : 101,
    steps: 100,
  }),
  position: (/** @type {number} */ step) =>
    step > 101 ? null : { step, tokens: 10 * step, seconds: step, elapsed: step, time: step },
  stepsBetween: (/** @type {Axis} */ _axis, /** @type {Window} */ [from, to]) =>
    /** @type {Window} */ ([Math.floor(from / 10), Math.ceil(to / 10)]),
};
const store = { curves, last: 101 };
const page = (/** @type {Window | null} */ window, /** @type {Axis} */ axis = "step") => ({
  store,
  view: { axis, window },
});
/** @returns {Position} */
const at = (/** @type {number} */ step) => ({ step, tokens: 10 * step, seconds: step, elapsed: step, time: step });

test("+ halves the window around its middle, or around the marked point", () => {
  assert.deepEqual(windowByKey("+", page([21, 61])), [31, 51]);
  assert.deepEqual(windowByKey("+", page([21, 61]), at(21)), [21, 41]);
});

test("- doubles the window, and resets it once it has the whole run", () => {
  assert.deepEqual(windowByKey("-", page([41, 61])), [31, 71]);
  assert.equal(windowByKey("-", page([20, 80])), null);
});

test("0 resets the window; other keys are not for it", () => {
  assert.equal(windowByKey("0", page([21, 61])), null);
  assert.equal(windowByKey("x", page([21, 61])), undefined);
});

test("a window of two steps is not halved", () => {
  assert.deepEqual(windowByKey("+", page([50, 52])), [50, 52]);
});

test("steps are a window along the axis that charts have", () => {
  assert.deepEqual(windowOfSteps([20, 30], page(null)), [20, 30]);
  assert.deepEqual(windowOfSteps([20, 30], page(null, "tokens")), [200, 300]);
  assert.deepEqual(windowOfSteps([20, 20.4], page(null)), [20, 21]); // at least one step
  assert.deepEqual(windowOfSteps([20, 200], page([5, 6], "tokens")), [5, 6]); // beyond the run
});

test("charts over steps show the steps of the window that the run has", () => {
  assert.deepEqual(stepsShown(store, page(null).view), [1, 101]);
  assert.deepEqual(stepsShown(store, page([20.4, 30.2]).view), [20, 31]);
  assert.deepEqual(stepsShown(store, page([90, 500]).view), [90, 101]);
  assert.deepEqual(stepsShown(store, page([200, 300], "tokens").view), [20, 30]);
  assert.deepEqual(stepsShown({ ...store, last: 0 }, page(null).view), [1, 2]);
});

test("a step and a range of steps are queried", () => {
  assert.equal(stepsQuery({ step: 7, first: 7 }), "step=7");
  assert.equal(stepsQuery({ step: 20, first: 11 }), "step_low=11&step_high=20");
  assert.equal(stepsQuery({ step: 7 }), "step=7");
});
