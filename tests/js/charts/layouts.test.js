import assert from "node:assert/strict";
import { test } from "node:test";

import { fromText, toText } from "../../../static/js/charts/layouts.js";

test("a layout survives its way through an address", () => {
  const charts = [
    { title: "", names: ["policy/entropy", "env/a+b,c:d/success"], log: true },
    { title: "", names: ["reward/mean"], log: null },
    { title: "", names: ["optim/grad_norm"], log: false },
  ];
  assert.deepEqual(fromText(toText(charts)), charts);
  assert.equal(toText([charts[1]]), "reward%2Fmean");
});

test("text that names no charts is no layout", () => {
  assert.equal(fromText(null), null);
  assert.equal(fromText("a,,b"), null);
  assert.equal(fromText("%E0%A4%A"), null); // not a percent encoding
});
