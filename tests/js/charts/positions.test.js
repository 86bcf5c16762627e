import assert from "node:assert/strict";
import { test } from "node:test";

import {
  coordinate,
  endsOf,
  everyStepOf,
  pointsOf,
  positionAt,
  positionsOf,
  stepsBetween,
} from "../../../static/js/charts/positions.js";

/** Three buckets of a run of 30 steps, each the last step of its bucket. */
const ANSWER = {
  steps: [10, 20, 30],
  tokens: [100, 300, 500],
  seconds: [1, 2, 3],
  times: [1001, 1002, 1003],
  elapsed: [1, 2, 3],
  attempts: [1, 1, 1],
  thinned: true,
  spans: /** @type {[number, number, number][]} */ ([[1, 30, 1]]),
  series: {},
};
const POSITIONS = positionsOf(ANSWER);

test("a bucket begins after the one before, the first at the first step", () => {
  assert.deepEqual(
    POSITIONS.map(({ first }) => first),
    [1, 11, 21],
  );
});

test("a point has the mean and the extremes of its bucket; a bucket without values has none", () => {
  const band = {
    mean: [0.5, null, 0.7],
    low: [0.1, null, 0.6],
    high: [0.9, null, 0.8],
    low_at: [3, null, 22],
    high_at: [7, null, 25],
  };
  const points = pointsOf(POSITIONS, band);
  assert.deepEqual(
    points.map(({ step, y, low, high, lowAt, highAt }) => [step, y, low, high, lowAt, highAt]),
    [
      [10, 0.5, 0.1, 0.9, 3, 7],
      [30, 0.7, 0.6, 0.8, 22, 25],
    ],
  );
});

test("a step between two positions is interpolated on every axis", () => {
  const found = positionAt(POSITIONS, 15); // halfway from 10 to 20
  assert.deepEqual([found?.tokens, found?.seconds, found?.time], [200, 1.5, 1001.5]);
});

test("a step in the first bucket takes its position, one beyond the run has none", () => {
  assert.deepEqual(positionAt(POSITIONS, 3), { ...POSITIONS[0], step: 3, lineage: 3 });
  assert.equal(positionAt(POSITIONS, 31), null);
});

test("positions of a fork count the steps of its ancestors", () => {
  const positions = positionsOf(ANSWER, 80);
  assert.deepEqual(
    positions.map((position) => coordinate(position, "lineage")),
    [90, 100, 110],
  );
  assert.equal(positionAt(positions, 15)?.lineage, 95);
  assert.equal(positionAt(positions, 3)?.lineage, 83);
  assert.deepEqual(endsOf(positions, "lineage"), { first: 1, last: 110, steps: 109 });
  assert.deepEqual(endsOf(positions, "step"), { first: 10, last: 30, steps: 20 });
});

test("the steps of a window have a neighbour on each side", () => {
  assert.deepEqual(stepsBetween(POSITIONS, "tokens", [150, 320]), [10, 30]); // 150 is after step 10, 320 before step 30
  assert.deepEqual(stepsBetween(POSITIONS, "tokens", [-5, 9999]), [10, 30]);
  assert.deepEqual(stepsBetween([], "step", [1, 2]), [0, 0]);
});

test("the clock's axis is in milliseconds", () => {
  assert.equal(coordinate(POSITIONS[0], "time"), 1001000);
});

test("spans name every step, and new positions follow them", () => {
  /** @type {[number, number, number][]} */
  const spans = [
    [1, 11, 5], // 1, 6, 11
    [20, 22, 1],
  ];
  assert.deepEqual(
    everyStepOf(spans, [
      { ...POSITIONS[0], step: 22 },
      { ...POSITIONS[0], step: 23 },
    ]),
    [1, 6, 11, 20, 21, 22, 23],
  );
  assert.deepEqual(everyStepOf(spans, [{ ...POSITIONS[0], step: 11 }]), [1, 6, 11]); // an attempt went back to step 11
});
