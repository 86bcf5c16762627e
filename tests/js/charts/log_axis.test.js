import assert from "node:assert/strict";
import { test } from "node:test";

import { notesOf, whyEmpty } from "../../../static/js/charts/chart_notes.js";
import { onLogAxis, withGaps } from "../../../static/js/charts/log_axis.js";
import { smooth } from "../../../static/js/charts/smoothing.js";

const line = { x: [1, 2, 3, 4, 5], mode: "lines", line: { color: "#000" } };

test("zeros and negative values are gaps, are counted, and what is alone between two of them is a dot", () => {
  const faint = { ...line, y: [2, 0, 3, -1, 4], hoverinfo: "skip" };
  const { traces, left } = withGaps([faint, { ...line, y: [2, 0, 3, -1, 4] }]);
  assert.equal(left, 2); // of the line, and not again of the same values under it
  assert.deepEqual(
    traces.map(({ mode, x, y }) => [mode, x, y]),
    [
      ["lines", [1, 2, 3, 4, 5], [2, NaN, 3, NaN, 4]],
      ["markers", [1, 3, 5], [2, 3, 4]],
      ["lines", [1, 2, 3, 4, 5], [2, NaN, 3, NaN, 4]],
    ],
  );
});

test("a line of positive values is drawn as it is", () => {
  const traces = [{ ...line, y: [1, 2, 3, 4, 5] }];
  assert.deepEqual(withGaps(traces), { traces, left: 0 });
});

test("smoothing passes over a gap instead of falling towards it", () => {
  // weight 0.5: masses 0.5 and 0.75; (0.25 · 1 + 0.5 · 4) / 0.75 = 3. With the zero, the last would be 19/7
  assert.deepEqual(smooth([1, 0, 4].map(onLogAxis), 0.5), [1, NaN, 3]);
});

test("a chart says what it leaves out", () => {
  assert.equal(notesOf({ cut: null, left: 0 }), "");
  assert.equal(notesOf({ cut: null, left: 1 }), "1 value ≤ 0 is not drawn on the logarithmic axis");
  assert.equal(notesOf({ cut: null, left: 3 }), "3 values ≤ 0 are not drawn on the logarithmic axis");
  assert.match(whyEmpty({}, 3), /^All values are ≤ 0/);
});
