// A run's socket: events without gaps, reconnecting with back-off, asking over HTTP while there is no socket.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const SILENCE = 40000; // the server speaks every 15 s

export class LiveSocket {
  // `after()` is the newest seq known; `onMessage` gets every message; `onState` one of live, catching-up, stale, polling
  constructor({ path, after, onMessage, onState, poll }) {
    Object.assign(this, { path, after, onMessage, onState, poll });
    this.wait = FIRST_WAIT;
    this.offset = 0; // server clock minus ours, in seconds
    this.open();
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && this.socket?.readyState !== WebSocket.OPEN) this.retryNow();
    });
    addEventListener("online", () => this.retryNow());
    addEventListener("pagehide", () => {
      this.over = true;
      this.socket?.close();
    });
    setInterval(() => this.listenForSilence(), 5000);
  }

  open() {
    if (this.over) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.onState("catching-up");
    const socket = new WebSocket(`${scheme}://${location.host}${this.path}?after=${this.after()}`);
    this.socket = socket;
    socket.addEventListener("open", () => {
      this.wait = FIRST_WAIT;
      this.heard = Date.now();
      this.ping();
      this.pinging = setInterval(() => this.ping(), 20000);
    });
    socket.addEventListener("message", (event) => this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => this.closed(event.code));
  }

  receive(message) {
    this.heard = Date.now();
    if (message.kind === "pong") {
      const now = Date.now() / 1000;
      this.offset = message.server_time - (message.time + now) / 2;
      return;
    }
    this.onMessage(message);
    this.onState("live");
  }

  ping() {
    if (this.socket.readyState === WebSocket.OPEN)
      this.socket.send(JSON.stringify({ kind: "ping", time: Date.now() / 1000 }));
  }

  closed(code) {
    clearInterval(this.pinging);
    if (this.over) return;
    if (code === 4401 || code === 4403) {
      this.over = true;
      this.onState("stale", "signed out: reload to sign in");
      return;
    }
    this.onState("polling");
    this.poll().then((good) => this.onState(good ? "polling" : "stale"));
    const jitter = 0.7 + 0.6 * Math.random();
    this.retry = setTimeout(() => this.open(), this.wait * jitter);
    this.wait = Math.min(LONGEST_WAIT, 2 * this.wait);
  }

  retryNow() {
    if (this.over || (this.socket && this.socket.readyState <= WebSocket.OPEN)) return;
    clearTimeout(this.retry);
    this.wait = FIRST_WAIT;
    this.open();
  }

  // a laptop that slept may hold a dead socket that never says so
  listenForSilence() {
    if (this.socket?.readyState === WebSocket.OPEN && Date.now() - this.heard > SILENCE) this.socket.close();
  }
}
