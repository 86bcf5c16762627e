import assert from "node:assert/strict";
import { test } from "node:test";

import { changeOfArms, describeArms } from "../../../static/js/environments/board_arms.js";
import { changeOfGrid } from "../../../static/js/environments/board_diff.js";
import { describeGrid } from "../../../static/js/environments/board_grid.js";

/** @import { Drawing } from "../../../static/js/types.js" */

/** @type {Drawing} */
const LAKE = {
  type: "grid",
  rows: 2,
  columns: 2,
  cells: [
    ["start", "floor"],
    ["hole", "goal"],
  ],
  agent: [0, 0],
  agent_state: "ok",
};

test("the description of a grid names the player and every cell that is not floor", () => {
  assert.equal(
    describeGrid(LAKE),
    "2 by 2 grid, as (row, column): player at (0, 0); start at (0, 0); hole at (1, 0); goal at (1, 1)",
  );
  assert.match(describeGrid({ ...LAKE, agent: [1, 0], agent_state: "in_hole" }), /player at \(1, 0\), in a hole/);
});

test("a drawing that is no grid has no description", () => {
  assert.equal(describeGrid({ ...LAKE, rows: 9999 }), "no drawing");
  assert.equal(describeGrid({ ...LAKE, cells: undefined }), "no drawing");
});

test("the change of a grid is the move and the cells that differ", () => {
  const next = {
    ...LAKE,
    agent: /** @type {[number, number]} */ ([0, 1]),
    cells: [
      ["start", "box"],
      ["hole", "goal"],
    ],
  };
  assert.equal(changeOfGrid(LAKE, next), "Changed: player (0, 0) → (0, 1); (0, 1) floor → box.");
  assert.equal(changeOfGrid(LAKE, LAKE), "Nothing changed.");
});

test("of many changed cells six are named", () => {
  const cells = (/** @type {string} */ name) => [Array(8).fill(name)];
  assert.match(
    changeOfGrid({ type: "grid", cells: cells("floor") }, { type: "grid", cells: cells("wall") }),
    /and 2 more cells/,
  );
});

test("a bandit's arms are described with what they paid", () => {
  const before = { type: "arms", arms: [{ name: "left" }, { name: "right" }] };
  const after = { type: "arms", arms: [{ name: "left", pulled: true, reward: 0.5 }, { name: "right" }] };
  assert.equal(describeArms(after), "2 arms: left, pulled, paid 0.5; right");
  assert.equal(changeOfArms(before, after), "left was pulled and paid 0.5.");
});
