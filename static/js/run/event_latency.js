// How long events take from the engine to the screen: percentiles of what was drawn.

const KEPT = 200;
const LONGEST = 60000; // milliseconds; more is catching up after a pause

export class EventLatency {
  /** @type {number[]} */
  values = [];

  /** @param {HTMLElement} target */
  constructor(target) {
    this.target = target;
  }

  /**
   * An event has been drawn.
   * @param {number} time of the event, by the engine's clock
   * @param {number} offset the server's clock minus ours
   */
  drawn(time, offset) {
    const latency = 1000 * (Date.now() / 1000 + offset - time);
    if (latency < 0 || latency > LONGEST) return;
    this.values.push(latency);
    if (this.values.length > KEPT) this.values.shift();
    const [p50, p95] = [percentile(this.values, 0.5), percentile(this.values, 0.95)];
    this.target.textContent = `lag ${p50} ms, p95 ${p95} ms`;
    Object.assign(this.target.dataset, { p50, p95, count: this.values.length });
  }
}

/**
 * @param {number[]} values
 * @param {number} share
 */
export function percentile(values, share) {
  const sorted = [...values].sort((one, other) => one - other);
  return Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))]);
}
