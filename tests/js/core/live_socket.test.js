import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { LiveSocket } from "../../../static/js/core/live_socket.js";

/** @typedef {{ readyState: number, url: string, sent: string[], close(code?: number): void }} FakeSocket */

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

test("a pong sets the difference between the clocks, half the round trip taken off", () => {
  const { socket } = connect();
  const now = Date.now() / 1000;
  socket.receive({ kind: "pong", time: now - 0.2, server_time: now + 4.9 }); // sent 0.2 s ago, answered 0.1 s ago at now - 0.1
  assert.ok(Math.abs(socket.offset - 5) < 0.05, String(socket.offset));
});
