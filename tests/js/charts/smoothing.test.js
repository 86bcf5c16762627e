import assert from "node:assert/strict";
import { test } from "node:test";

import { smooth, withoutOutliers } from "../../../static/js/charts/smoothing.js";

test("smoothing begins at the first value and keeps a constant exactly", () => {
  assert.deepEqual(smooth([0.1, 0.1, 0.1], 0.6), [0.1, 0.1, 0.1]);
  assert.equal(smooth([4, 9], 0.6)[0], 4);
});

test("smoothing weighs values by the corrected moving average", () => {
  // weight 0.5: masses 0.5 and 0.75; mean = (0.25 · 0 + 0.5 · 3) / 0.75 = 2
  assert.deepEqual(
    smooth([0, 3], 0.5).map((value) => Number(value.toFixed(9))),
    [0, 2],
  );
});

test("without a weight the values are returned", () => {
  assert.deepEqual(smooth([1, 2], 0), [1, 2]);
});

test("one value of fifty that is far away is left out", () => {
  const values = [...Array.from({ length: 49 }, (_, i) => i / 48), 100]; // 0 to 1, and 100
  const cut = withoutOutliers(values);
  assert.equal(cut?.outside, 1);
  assert.equal(cut?.reach, 100);
  assert.ok(cut && cut.range[0] === 0 && cut.range[1] < 1.3);
});

test("few values, or a range that would hardly change, are left as they are", () => {
  assert.equal(withoutOutliers([...Array(18).fill(0), 100]), null); // 19 values
  assert.equal(withoutOutliers(Array.from({ length: 100 }, (_, i) => i)), null);
});
