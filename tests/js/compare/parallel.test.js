import assert from "node:assert/strict";
import { test } from "node:test";

import { scaleOf, tickText } from "../../../static/js/compare/axis_scale.js";
import { brushBetween, brushesOf, endsOf, selectedBy } from "../../../static/js/compare/brushes.js";
import { mixed } from "../../../static/js/compare/parallel_chart.js";
import { heading } from "../../../static/js/compare/setting_labels.js";

const numbers = (/** @type {(number | null)[]} */ ...values) =>
  scaleOf({ values: values.map(String), numbers: values });
const texts = (/** @type {{ ticks: { text: string }[] }} */ { ticks }) => ticks.map(({ text }) => text);

test("numbers are on an axis by size, logarithmic if the largest is thirty times the least", () => {
  assert.deepEqual(numbers(1, 2, 5).positions, [0, 0.25, 1]);
  assert.deepEqual(numbers(1, 10, 100).positions, [0, 0.5, 1]);
});

test("what is not set has a place of its own below the numbers, and so has 0 on a logarithmic axis", () => {
  const found = numbers(null, 1, 3); // 0.12 of the axis for those without, 0.88 for the numbers
  assert.deepEqual(found.positions, [0, 0.12, 1]);
  assert.deepEqual(texts(found), ["not set", "1", "3"]);
  const zero = numbers(0, 0.001, 0.1, 0.01);
  assert.deepEqual(
    zero.positions.map((at) => at.toFixed(2)),
    ["0.00", "0.12", "1.00", "0.56"],
  );
  assert.deepEqual(texts(zero), ["0", "0.001", "0.01", "0.1"]);
});

test("an outcome is linear, however much its values differ", () => {
  const values = [0, 1, 100];
  assert.deepEqual(scaleOf({ values: values.map(String), numbers: values }, { linear: true }).positions, [0, 0.01, 1]);
});

test("a single number among runs without it is in the middle", () => {
  assert.deepEqual(numbers(null, 4).positions, [0, 0.56]); // (0.12 + 1) / 2
});

test("words are in the order in which they come", () => {
  const found = scaleOf({ values: ["on", "off", "on", "auto"], numbers: null });
  assert.deepEqual(found.positions, [0, 0.5, 0, 1]);
  assert.deepEqual(texts(found), ["on", "off", "auto"]);
});

test("labels of an axis never overlap, and its ends have theirs", () => {
  const found = numbers(1, 1.01, 1.02, 2); // 0.01 of 1 is less than 0.07 of the axis
  assert.deepEqual(texts(found), ["1", "2"]);
  const many = numbers(...Array.from({ length: 50 }, (_, i) => 0.61 + 0.013 * i));
  assert.deepEqual(texts(many), ["0.8", "1", "1.2"]);
});

test("numbers have three digits", () => {
  assert.deepEqual([0.0001, 0.00035, 0.25, 1200, 0].map(tickText), ["1e-4", "3.5e-4", "0.25", "1200", "0"]);
});

const RATE = { key: "rate", label: "rate", values: ["1", "2", "5"], ...numbers(1, 2, 5) };
const KIND = { key: "kind", label: "kind", values: ["a", "b", "b"], positions: [0, 1, 1] };

test("a drag along an axis selects the values that it passes", () => {
  assert.deepEqual(brushBetween(RATE, 0.3, -0.02), { key: "rate", from: "1", to: "2" });
  assert.equal(brushBetween(RATE, 0.4, 0.6), null);
});

test("runs are selected if they are on all brushes", () => {
  const rate = { key: "rate", from: "2", to: "5" };
  assert.deepEqual(endsOf(rate, RATE), [0.25, 1]);
  assert.deepEqual(selectedBy([rate], [RATE, KIND], 3), [false, true, true]);
  assert.deepEqual(selectedBy([rate, { key: "kind", from: "a", to: "a" }], [RATE, KIND], 3), [false, false, false]);
  assert.deepEqual(selectedBy([{ key: "gone", from: "2", to: "5" }], [RATE], 3), [true, true, true]);
  assert.deepEqual(selectedBy([{ key: "rate", from: "7", to: "8" }], [RATE], 3), [true, true, true]);
});

test("the address has the ends of each brush", () => {
  const address = "http://x/compare/?brush=optimizer.learning_rate~1e-05~0.001&brush=broken";
  assert.deepEqual(brushesOf(address), [{ key: "optimizer.learning_rate", from: "1e-05", to: "0.001" }]);
});

test("a heading has the section of a setting above its name, as text", () => {
  assert.equal(heading("filter.type"), "filter<br>type");
  assert.equal(heading("a.<b>"), "a<br>&lt;b&gt;");
  assert.equal(heading("Lake: held-out success", /: /), "Lake<br>held-out success");
});

test("a colour between two", () => {
  assert.equal(mixed("#000000", "#ff8040", 0.5), "#804020");
  assert.equal(mixed("none", "#ff8040", 0.5), "#ff8040");
});
