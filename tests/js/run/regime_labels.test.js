import assert from "node:assert/strict";
import { test } from "node:test";

import { linesThatFit } from "../../../static/js/run/regime_labels.js";

// a letter counts as 7.2 pixels, with 8 on either side: "Entropy blow-up" takes 124, "blow-up" and "Entropy" 66.4
test("a name is on one line where there is room, else on a line for each word, and never cut", () => {
  assert.deepEqual(linesThatFit("Entropy blow-up", 124, 100), ["Entropy blow-up"]);
  assert.deepEqual(linesThatFit("Entropy blow-up", 123, 100), ["Entropy", "blow-up"]);
  assert.deepEqual(linesThatFit("Entropy blow-up", 67, 100), ["Entropy", "blow-up"]);
  assert.equal(linesThatFit("Entropy blow-up", 66, 100), null);
});

test("a name is not where it is too low for its lines", () => {
  assert.equal(linesThatFit("Entropy blow-up", 67, 37), null); // two lines of 15 pixels, and 8
});
