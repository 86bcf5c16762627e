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
  setTimeout(/** @type {() => void} */ act, /** @type {number} */ wait) {
    const timer = { at: now + wait, act };
    due.push(timer);
    return timer;
  },
  clearTimeout(/** @type {unknown} */ timer) {
    due = due.filter((one) => one !== timer);
  },
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
  const { update } = oneAtATime(() => {
    begun.push(now);
    now += duration;
  });
  while (now < 1000) {
    update();
    await settle();
    now += 10;
  }
  return begun;
}

test("after a slow drawing updates wait for as long as it took", async () => {
  // 100 ms of drawing, then 100 ms without; the next tick of 10 ms begins another
  assert.deepEqual(await drawnInASecond(100), [0, 200, 400, 600, 800]);
});

test("each update is drawn where drawings are fast", async () => {
  assert.equal((await drawnInASecond(0)).length, 100);
});

test("updates wait for a second at most, after a drawing that waited for the network", async () => {
  let drawings = 0;
  const { update } = oneAtATime(() => {
    drawings += 1;
    now += 30_000;
  });
  update();
  await settle();
  update();
  now += 999;
  await settle();
  assert.equal(drawings, 1);
  now += 1;
  await settle();
  assert.equal(drawings, 2);
});

test("what the reader does is drawn at once, with the updates that wait", async () => {
  let drawings = 0;
  const { request, update } = oneAtATime(() => {
    drawings += 1;
    now += 500;
  });
  update();
  await settle();
  update();
  await settle();
  assert.equal(drawings, 1);
  request();
  await settle();
  assert.equal(drawings, 2);
  now += 5000;
  await settle();
  assert.equal(drawings, 2);
});

test("several requests during a drawing are one more", async () => {
  let drawings = 0;
  const { request } = oneAtATime(() => {
    drawings += 1;
    if (drawings === 1) {
      request();
      request();
    }
  });
  request();
  await settle();
  assert.equal(drawings, 2);
});

test("a hidden tab draws nothing until it is shown", async () => {
  let drawings = 0;
  const { request } = oneAtATime(() => {
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
