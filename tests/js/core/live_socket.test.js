import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { LiveSocket } from "../../../static/js/core/live_socket.js";

/** @typedef {EventTarget & { readyState: number, url: string, sent: string[], close(code?: number): void }} FakeSocket */

/** @type {(() => void)[]} what was scheduled; the tests run it without waiting */
let due = [];

const page = Object.assign(new EventTarget(), { hidden: false });
const browserWindow = new EventTarget();
/** @type {FakeSocket[]} */
let sockets = [];

class Socket extends EventTarget {
  static OPEN = 1;

  /** @param {string} url */
  constructor(url) {
    super();
    this.url = url;
    this.readyState = 0;
    /** @type {string[]} */
    this.sent = [];
    sockets.push(this);
  }

  /** @param {string} text */
  send(text) {
    this.sent.push(text);
  }

  close(code = 1006) {
    this.readyState = 3;
    this.dispatchEvent(Object.assign(new Event("close"), { code }));
  }
}

Object.assign(globalThis, {
  document: page,
  location: { protocol: "http:", host: "test" },
  WebSocket: Socket,
  addEventListener: browserWindow.addEventListener.bind(browserWindow),
  setTimeout: (/** @type {() => void} */ act) => due.push(act),
  clearTimeout() {
    due = [];
  },
  setInterval() {},
  clearInterval() {},
});

beforeEach(() => {
  sockets = [];
  due = [];
  page.hidden = false;
});

/** What the list of runs and the what-if page pass: no `needed`. */
function connect(more = {}) {
  /** @type {string[]} */
  const states = [];
  const options = { path: "/ws/", after: () => 7, onMessage() {}, poll: async () => true };
  const socket = new LiveSocket({ ...options, onState: (state) => states.push(state), ...more });
  return { socket, states };
}

function wait() {
  const acts = due;
  due = [];
  for (const act of acts) act();
}

test("a hidden tab that loses its socket waits, and connects when it is shown", () => {
  connect();
  page.hidden = true;
  sockets[0].close();
  wait();
  assert.equal(sockets.length, 1);
  page.hidden = false;
  page.dispatchEvent(new Event("visibilitychange"));
  assert.equal(sockets.length, 2);
});

test("a hidden tab that is needed connects again", () => {
  connect({ needed: () => true });
  page.hidden = true;
  sockets[0].close();
  wait();
  assert.equal(sockets.length, 2);
});

test("a visible tab polls and connects again from the newest event it knows", async () => {
  const { states } = connect();
  sockets[0].close();
  await Promise.resolve();
  assert.deepEqual(states, ["catching-up", "polling", "polling"]);
  wait();
  assert.equal(sockets[1].url, "ws://test/ws/?after=7");
});

test("the wait doubles from attempt to attempt, up to 15 seconds", () => {
  const { socket } = connect();
  const waits = Array.from({ length: 7 }, () => {
    const { wait: now } = socket;
    socket.closed(1006);
    return now;
  });
  assert.deepEqual(waits, [500, 1000, 2000, 4000, 8000, 15000, 15000]);
});

test("a tab that is signed out does not connect again", () => {
  const { states } = connect();
  sockets[0].close(4401);
  wait();
  assert.equal(sockets.length, 1);
  assert.equal(states.at(-1), "stale");
});

/** Moves the clock on; the socket checks itself every second. */
function passes(/** @type {LiveSocket<{ kind: string }>} */ socket, /** @type {number} */ seconds) {
  const real = Date.now;
  const start = real();
  for (let second = 1; second <= seconds; second += 1) {
    Date.now = () => start + 1000 * second;
    socket.checkConnection();
  }
  Date.now = real;
}

function opened(more = {}) {
  const { socket, states } = connect(more);
  sockets[0].readyState = 1;
  sockets[0].dispatchEvent(new Event("open"));
  return { socket, states };
}

test("a visible page without an answer says within 5 seconds since when, and an answer takes it back", () => {
  /** @type {string[]} */
  const details = [];
  const { socket, states } = opened({
    onState: (/** @type {string} */ state, /** @type {string} */ detail) => details.push(`${state} ${detail ?? ""}`),
  });
  assert.equal(states.length, 0);
  passes(socket, 5);
  assert.match(details.at(-1) ?? "", /^stale offline since .*\d/);
  assert.equal(details.filter((one) => one.startsWith("stale")).length, 1); // it is said once
  assert.ok(sockets[0].sent.length >= 3, "it asks every two seconds");
  socket.receive({ kind: "pong", time: 0, server_time: 0 });
  assert.equal(details.at(-1), "live ");
  assert.equal(sockets.length, 1); // the socket is the same
});

test("a hidden page asks rarely and says nothing", () => {
  const { socket, states } = opened();
  page.hidden = true;
  passes(socket, 12);
  assert.equal(states.includes("stale"), false);
  assert.equal(sockets[0].sent.length, 1); // when it was opened
});

test("a browser that loses its network says so at once", () => {
  const { states } = opened();
  browserWindow.dispatchEvent(new Event("offline"));
  assert.equal(states.at(-1), "stale");
});

test("a pong sets the difference between the clocks, half the round trip taken off", () => {
  const { socket } = connect();
  const now = Date.now() / 1000;
  socket.receive({ kind: "pong", time: now - 0.2, server_time: now + 4.9 }); // sent 0.2 s ago, answered 0.1 s ago at now - 0.1
  assert.ok(Math.abs(socket.offset - 5) < 0.05, String(socket.offset));
});
