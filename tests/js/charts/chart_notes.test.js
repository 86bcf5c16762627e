import assert from "node:assert/strict";
import { test } from "node:test";

import { unitOf } from "../../../static/js/charts/chart_notes.js";

test("a chart names the unit that its metrics share, unless its title does", () => {
  const gb = { unit: "GB" };
  assert.equal(unitOf([gb, gb], "Memory"), "GB");
  assert.equal(unitOf([gb, { unit: "share" }], "Memory"), "");
  assert.equal(unitOf([{ unit: "share" }], "Success"), "");
  assert.equal(unitOf([{}], "Loss"), "");
  assert.equal(unitOf([{ unit: "groups" }], "Kept groups"), "");
  assert.equal(unitOf([{ unit: "s" }], "Time per step"), "s");
});
