import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { CompareView } from "../../../static/js/compare/view_state.js";
import { RunView } from "../../../static/js/run/view_state.js";

const HOME = "http://host/runs/x/";
let address = HOME;
Object.assign(globalThis, {
  location: {
    get href() {
      return address;
    },
  },
  history: {
    replaceState: (/** @type {unknown} */ _state, /** @type {string} */ _title, /** @type {string | URL} */ next) => {
      address = String(next);
    },
  },
});
beforeEach(() => {
  address = HOME;
});

test("an address without parameters is the default view", () => {
  const view = new RunView(HOME);
  const { axis, smoothing, outliers, step, window, tab } = view;
  assert.deepEqual(
    { axis, smoothing, outliers, step, window, tab },
    { axis: "step", smoothing: 0.6, outliers: false, step: null, window: null, tab: "" },
  );
});

test("the view comes back from the address that it wrote", () => {
  const view = new RunView(HOME);
  view.look({ axis: "tokens", smoothing: 0, outliers: true, step: 12 });
  view.zoom([100, 2500]);
  view.turnLog("policy/entropy+reward/mean", true);
  view.turnLog("optim/grad_norm", false, true);
  const again = new RunView(address);
  assert.deepEqual([again.axis, again.smoothing, again.outliers, again.step], ["tokens", 0, true, 12]);
  assert.deepEqual(again.window, [100, 2500]);
  assert.deepEqual(
    [...again.scales],
    [
      ["policy/entropy+reward/mean", true],
      ["optim/grad_norm", false],
    ],
  );
});

test("parameters that make no sense are ignored", () => {
  const view = new RunView(`${HOME}?x=cheese&smoothing=7&step=-1&zoom=9..3`);
  assert.deepEqual([view.axis, view.smoothing, view.step, view.window], ["step", 0.6, null, null]);
});

test("another axis resets the window, since it was along the former one", () => {
  const view = new RunView(`${HOME}?zoom=3..9`);
  view.look({ smoothing: 0.1 });
  assert.deepEqual(view.window, [3, 9]);
  view.look({ axis: "elapsed" });
  assert.equal(view.window, null);
});

test("a window of the clock is read from Plotly's local time", () => {
  const view = new RunView(`${HOME}?x=time`);
  view.zoom(["2026-01-02 03:04:05", "2026-01-02 03:05:05"]);
  assert.equal((view.window?.[1] ?? 0) - (view.window?.[0] ?? 0), 60_000);
});

test("a scale that is set back to the metrics' own leaves the address", () => {
  const view = new RunView(HOME);
  view.turnLog("a/b", true);
  assert.match(address, /log=a/);
  view.turnLog("a/b", false);
  assert.doesNotMatch(address, /log=/);
});

test("a comparison keeps its metrics and hidden runs in the address", () => {
  const view = new CompareView(HOME, ["a/b"]);
  view.setMetrics(["a/b", "c/d"]);
  view.hide(["r1", "r2"], true);
  view.hide(["r1"], false);
  view.setBand("std");
  assert.match(address, /metrics=a\/b,c\/d&hidden=r2&band=std/);
});
