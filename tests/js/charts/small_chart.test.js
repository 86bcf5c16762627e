import assert from "node:assert/strict";
import { test } from "node:test";

import { atOrBefore, ticks } from "../../../static/js/charts/small_chart.js";
import { rowsOf } from "../../../static/js/charts/small_chart_csv.js";

test("ticks are round numbers within the range", () => {
  assert.deepEqual(ticks(0, 1, 3), [0, 0.5, 1]);
  assert.deepEqual(ticks(3, 97, 4), [50]); // about 23.5 apart, so 50
  assert.deepEqual(ticks(0, 0.3, 3), [0, 0.1, 0.2, 0.3]); // without 0.30000000000000004
  assert.deepEqual(ticks(5, 5, 3), [5]);
});

const POINTS = [
  { step: 10, first: 1, y: 1, low: 0, high: 2 },
  { step: 11, y: 3 },
  { step: 15, y: 5 },
];

test("the point of a step is the range that it is in, or the last one not after it", () => {
  assert.equal(atOrBefore(POINTS, 4)?.step, 10);
  assert.equal(atOrBefore(POINTS, 14)?.step, 11);
  assert.equal(atOrBefore(POINTS, null)?.step, 15);
  assert.equal(atOrBefore(POINTS.slice(1), 4), undefined);
});

test("a file has a row for each step and a column for each line", () => {
  const series = [
    {
      name: "a",
      kind: "line-1",
      points: [
        { step: 2, y: 0.5 },
        { step: 1, y: 0.25 },
      ],
    },
    { name: "b", kind: "line-2", points: [{ step: 2, y: 7 }] },
  ];
  assert.deepEqual(rowsOf(series), [
    ["step", "a", "b"],
    [1, 0.25, null],
    [2, 0.5, 7],
  ]);
});

test("a line with ranges has columns for its extremes, and rows name the first step", () => {
  const rows = rowsOf([{ name: "a", kind: "line-1", points: POINTS.slice(0, 2) }]);
  assert.deepEqual(rows, [
    ["first_step", "step", "a", "a, low", "a, high"],
    [1, 10, 1, 0, 2],
    [11, 11, 3, null, null],
  ]);
});
