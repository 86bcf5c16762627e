// How long events take from the engine to the screen: medians of what was really drawn.

const KEPT = 200;

export class Lag {
  constructor(target) {
    this.target = target;
    this.values = [];
  }

  // `time` of an event by the engine's clock, `offset` the server's clock minus ours, now that it is drawn
  drawn(time, offset) {
    const lag = 1000 * (Date.now() / 1000 + offset - time);
    if (lag < 0 || lag > 60000) return; // caught up after a pause: not a lag of the line
    this.values.push(lag);
    if (this.values.length > KEPT) this.values.shift();
    const sorted = [...this.values].sort((a, b) => a - b);
    const pick = (share) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
    this.target.textContent = `lag ${pick(0.5)} ms, p95 ${pick(0.95)} ms`;
    this.target.dataset.p50 = pick(0.5);
    this.target.dataset.p95 = pick(0.95);
    this.target.dataset.count = this.values.length;
  }
}
