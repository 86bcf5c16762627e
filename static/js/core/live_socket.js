// A run's socket: events without gaps, reconnecting with back-off, asking over HTTP while there is no socket.

const FIRST_WAIT = 500;
const LONGEST_WAIT = 15000;
const LONGEST_UNSEEN = 60000; // in a hidden tab that is needed all the same
const SILENCE = 40000; // the server speaks every 15 s
const GLANCE = 5000;

export class LiveSocket {
  // `after()` is the newest seq known; `onMessage` gets every message; `onState` one of live, catching-up, stale and
  // polling; `needed()` says whether a hidden tab, too, has to be connected
  constructor({ path, after, onMessage, onState, poll, needed }) {
    Object.assign(this, { path, after, onMessage, onState, poll, needed });
    this.wait = FIRST_WAIT;
    this.offset = 0; // server clock minus ours, in seconds
    this.open();
    document.addEventListener("visibilitychange", () => {
      if (document.hidden) return;
      this.listenForSilence();
      this.retryNow();
    });
    addEventListener("online", () => this.retryNow());
    addEventListener("pagehide", () => this.end());
    this.glanced = Date.now();
    setInterval(() => this.listenForSilence(), GLANCE);
  }

  open() {
    if (this.over) return;
    const scheme = location.protocol === "https:" ? "wss" : "ws";
    this.onState("catching-up");
    const socket = new WebSocket(`${scheme}://${location.host}${this.path}?after=${this.after()}`);
    this.socket = socket;
    const mine = () => this.socket === socket;
    socket.addEventListener("open", () => {
      if (!mine()) return;
      this.wait = FIRST_WAIT;
      this.heard = Date.now();
      this.ping();
      this.pinging = setInterval(() => this.ping(), 20000);
    });
    socket.addEventListener("message", (event) => mine() && this.receive(JSON.parse(event.data)));
    socket.addEventListener("close", (event) => mine() && this.closed(event.code));
  }

  // For good: there is nothing more to hear.
  end() {
    this.over = true;
    clearInterval(this.pinging);
    clearTimeout(this.retry);
    this.socket?.close();
  }

  receive(message) {
    this.heard = Date.now();
    if (message.kind === "pong") {
      const now = Date.now() / 1000;
      this.offset = message.server_time - (message.time + now) / 2;
      return;
    }
    this.onMessage(message);
    if (!this.over) this.onState("live");
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
    this.poll().then((good) => this.over || this.onState(good ? "polling" : "stale"));
    const jitter = 0.7 + 0.6 * Math.random();
    clearTimeout(this.retry);
    this.retry = setTimeout(() => this.openIfSeen(), this.wait * jitter);
    this.wait = Math.min(document.hidden ? LONGEST_UNSEEN : LONGEST_WAIT, 2 * this.wait);
  }

  // a hidden tab that nobody needs waits until somebody looks
  openIfSeen() {
    if (!document.hidden || this.needed()) this.open();
  }

  retryNow() {
    if (this.over || (this.socket && this.socket.readyState <= WebSocket.OPEN)) return;
    clearTimeout(this.retry);
    this.wait = FIRST_WAIT;
    this.open();
  }

  // A laptop that slept may hold a dead socket that never says so, and whose farewell takes a minute: it is left alone.
  listenForSilence() {
    const now = Date.now();
    const slept = now - this.glanced > SILENCE;
    this.glanced = now;
    if (this.over || this.socket?.readyState !== WebSocket.OPEN) return;
    if (!slept && now - this.heard <= SILENCE) return;
    const dead = this.socket;
    this.socket = null;
    clearInterval(this.pinging);
    dead.close();
    this.wait = FIRST_WAIT;
    this.open();
  }
}
