// A WebSocket to the server: events without gaps, reconnecting with exponential back-off, polling over HTTP meanwhile.

/** @import { ConnectionState, Pong } from "../types.js" */

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const LONGEST_WAIT_HIDDEN = 60000;
const TIMEOUT = 40000; // a socket that was silent for so long is replaced
const ANSWER_WITHIN = 4000; // of a page that is seen: without an answer for so long it says that it is offline
const CHECK_EVERY = 1000;
const PING_EVERY = 2000;
const PING_EVERY_HIDDEN = 20000;
const SIGNED_OUT = [4401, 4403]; // close codes

/** @template {{ kind: string }} U what the server sends besides pongs */
export class LiveSocket {
  /**
   * @param {object} options
   * @param {string} options.path
   * @param {() => number} options.after the newest seq known
   * @param {(message: U) => void} options.onMessage
   * @param {(state: ConnectionState, detail?: string) => void} options.onState
   * @param {() => Promise<boolean>} options.poll polls over HTTP; false if the server did not answer
   * @param {() => boolean} [options.needed] whether a hidden tab reconnects as well; by default it waits to be shown
   */
  constructor({ path, after, onMessage, onState, poll, needed = () => false }) {
    this.path = path;
    this.after = after;
    this.onMessage = onMessage;
    this.onState = onState;
    this.poll = poll;
    this.needed = needed;
    this.wait = FIRST_WAIT;
    this.offset = 0; // server clock minus ours, in seconds
    this.ended = false;
    this.lastMessageAt = 0;
    this.lastPingAt = 0;
    this.silent = false; // whether the page says that it is offline
    this.lastCheckAt = Date.now();
    /** @type {WebSocket | null} */
    this.socket = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.retry = undefined;
    this.open();
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      this.checkConnection();
      this.retryNow();
    });
    addEventListener("online", () => this.retryNow());
    addEventListener("offline", () => this.sayOffline());
    addEventListener("pagehide", () => this.end());
    setInterval(() => this.checkConnection(), CHECK_EVERY);
  }

  open() {
    if (this.ended) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.onState("catching-up");
    const socket = new WebSocket(`${scheme}://${location.host}${this.path}?after=${this.after()}`);
    this.socket = socket;
    const isCurrent = () => this.socket === socket;
    socket.addEventListener("open", () => {
      if (!isCurrent()) return;
      this.wait = FIRST_WAIT;
      this.lastMessageAt = Date.now();
      this.ping();
    });
    socket.addEventListener("message", (event) => isCurrent() && this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => isCurrent() && this.closed(event.code));
  }

  /** Closes for good. */
  end() {
    this.ended = true;
    clearTimeout(this.retry);
    this.socket?.close();
  }

  /** @param {U | Pong} message */
  receive(message) {
    this.lastMessageAt = Date.now();
    if (isPong(message)) {
      const now = Date.now() / 1000;
      this.offset = message.server_time - (message.time + now) / 2;
      if (this.silent) this.sayLive();
      return;
    }
    this.onMessage(message);
    this.sayLive();
  }

  sayLive() {
    this.silent = false;
    if (!this.ended) this.onState("live");
  }

  /** The time of the last answer says how old the page is. */
  sayOffline() {
    if (this.ended) return;
    this.silent = true;
    this.onState("stale", this.lastMessageAt ? `offline since ${clockTime(this.lastMessageAt)}` : undefined);
  }

  ping() {
    this.lastPingAt = Date.now();
    if (this.socket?.readyState === WebSocket.OPEN) {
      this.socket.send(JSON.stringify({ kind: "ping", time: Date.now() / 1000 }));
    }
  }

  /** @param {number} code */
  closed(code) {
    if (this.ended) return;
    if (SIGNED_OUT.includes(code)) {
      this.ended = true;
      this.onState("stale", "signed out: reload to sign in");
      return;
    }
    this.onState("polling");
    this.poll().then((answered) => {
      if (this.ended) return;
      if (answered) this.onState("polling");
      else this.sayOffline();
    });
    const jitter = 0.7 + 0.6 * Math.random();
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.reconnect(), this.wait * jitter);
    this.wait = Math.min(document.hidden ? LONGEST_WAIT_HIDDEN : LONGEST_WAIT, 2 * this.wait);
  }

  /** A hidden tab that nothing needs waits until it is shown. */
  reconnect() {
    if (!document.hidden || this.needed()) this.open();
  }

  retryNow() {
    if (this.ended || (this.socket && this.socket.readyState <= WebSocket.OPEN)) return;
    clearTimeout(this.retry);
    this.wait = FIRST_WAIT;
    this.open();
  }

  /**
   * Replaces a socket that went silent. After a laptop slept, a dead socket may report nothing, and closing it may take
   * a minute: its events are ignored from here on.
   */
  checkConnection() {
    const now = Date.now();
    const slept = now - this.lastCheckAt > TIMEOUT;
    this.lastCheckAt = now;
    if (this.ended || this.socket?.readyState !== WebSocket.OPEN) return;
    if (now - this.lastPingAt >= (document.hidden ? PING_EVERY_HIDDEN : PING_EVERY)) this.ping();
    if (!slept && !document.hidden && !this.silent && now - this.lastMessageAt > ANSWER_WITHIN) this.sayOffline();
    if (!slept && now - this.lastMessageAt <= TIMEOUT) return;
    const dead = this.socket;
    this.socket = null;
    dead.close();
    this.wait = FIRST_WAIT;
    this.open();
  }
}

/** @param {number} time in milliseconds */
const clockTime = (time) =>
  new Date(time).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });

/**
 * @param {{ kind: string }} message
 * @returns {message is Pong}
 */
const isPong = (message) => message.kind === "pong";
