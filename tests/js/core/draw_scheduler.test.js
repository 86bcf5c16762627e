import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { oneAtATime } from "../../../static/js/core/draw_scheduler.js";

// A page whose time goes on only when a drawing computes or the page waits; frames come at once.
let now = 0;
/** @type {{ at: number, act: () => void }[]} */
let due = [];
const page = { hidden: false };

Object.assign(globalThis, {
  document: page,
  performance: { now: () => now },
  requestAnimationFrame: (/** @type {() => void} */ act) => act(),
  setTimeout: (/** @type {() => void} */ act, /** @type {number} */ wait) => due.push({ at: now + wait, act }),
});

beforeEach(() => {
  now = 0;
  due = [];
  page.hidden = false;
});

/** Lets promises settle, and timers that are due. */
async function settle() {
  for (let round = 0; round < 10; round += 1) await Promise.resolve();
  const ready = due.filter(({ at }) => at <= now);
  due = due.filter(({ at }) => at > now);
  ready.forEach(({ act }) => act());
  for (let round = 0; round < 10; round += 1) await Promise.resolve();
}

/**
 * The times at which drawings began in a second with an update every ten milliseconds.
 * @param {number} duration of a drawing
 */
async function drawnInASecond(duration) {
  /** @type {number[]} */
  const begun = [];
  const request = oneAtATime(() => {
    begun.push(now);
    now += duration;
  });
  while (now < 1000) {
    request();
    await settle();
    now += 10;
  }
  return begun;
}

test("a slow drawing is followed by a rest of the same length", async () => {
  // 100 ms of drawing, then 100 ms without; the next tick of 10 ms begins another
  assert.deepEqual(await drawnInASecond(100), [0, 200, 400, 600, 800]);
});

test("fast drawings follow each update", async () => {
  assert.equal((await drawnInASecond(0)).length, 100);
});

test("the rest is a second at most, after a drawing that waited for the network", async () => {
  let drawings = 0;
  const request = oneAtATime(() => {
    drawings += 1;
    now += 30_000;
  });
  request();
  await settle();
  request();
  now += 999;
  await settle();
  assert.equal(drawings, 1);
  now += 1;
  await settle();
  assert.equal(drawings, 2);
});

test("requests during a drawing and its rest are one drawing", async () => {
  let drawings = 0;
  const request = oneAtATime(() => {
    drawings += 1;
    now += 50;
  });
  request();
  await settle();
  request();
  request();
  now += 50;
  await settle();
  now += 500;
  await settle();
  assert.equal(drawings, 2);
});

test("a hidden tab draws nothing until it is shown", async () => {
  let drawings = 0;
  const request = oneAtATime(() => {
    drawings += 1;
  });
  page.hidden = true;
  request();
  await settle();
  assert.equal(drawings, 0);
  page.hidden = false;
  request();
  await settle();
  assert.equal(drawings, 1);
});
