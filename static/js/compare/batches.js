// Requests of several runs at once: those made in the same turn of the event loop that ask for the same things are sent
// as one. `webapp.comparisons.first_curves` writes the addresses of the first ones, to be loaded early.

import { getJson } from "../core/requests.js";

/** @import { Bands, Outline } from "../types.js" */

const MOST_RUNS = 50; // of one request
const MOST_VALUES = 1_000_000; // runs times metrics times ranges of steps, of one request
const MOST_RANGES = 2000;

/** @typedef {{ run: string, resolve: (answer: unknown) => void }} Asked */

class Batches {
  /** @type {Map<string, { path: string, rest: string, most: number, asked: Asked[] }>} */
  waiting = new Map();

  /**
   * @param {string} path of the API
   * @param {string} run
   * @param {string} rest of the query
   * @param {number} most runs of a request
   * @returns {Promise<unknown>} what the answer has of the run, or null
   */
  ask(path, run, rest, most) {
    if (!this.waiting.size) queueMicrotask(() => this.send());
    const address = `${path}?${rest}`;
    const batch = this.waiting.get(address) ?? { path, rest, most, asked: [] };
    this.waiting.set(address, batch);
    return new Promise((resolve) => batch.asked.push({ run, resolve }));
  }

  send() {
    const batches = [...this.waiting.values()];
    this.waiting.clear();
    for (const { path, rest, most, asked } of batches) {
      for (let i = 0; i < asked.length; i += most) this.request(path, rest, asked.slice(i, i + most));
    }
  }

  /**
   * @param {string} path
   * @param {string} rest
   * @param {Asked[]} asked
   */
  async request(path, rest, asked) {
    const ids = asked.map(({ run }) => run).join(",");
    /** @type {{ runs: Record<string, unknown> } | null} */
    const answer = await getJson(`${path}?runs=${ids}${rest}`);
    for (const { run, resolve } of asked) resolve(answer?.runs[run] ?? null);
  }
}

const batches = new Batches();

/**
 * The curves of a run over ranges of steps.
 * @param {string} run
 * @param {string} query
 * @param {number} metrics
 */
export function bandsOf(run, query, metrics) {
  const most = Math.max(1, Math.min(MOST_RUNS, Math.floor(MOST_VALUES / (metrics * MOST_RANGES))));
  return /** @type {Promise<Bands | null>} */ (batches.ask("/api/v1/bands", run, `&${query}`, most));
}

/** @param {string} run */
export function outlineOf(run) {
  return /** @type {Promise<Outline | null>} */ (batches.ask("/api/v1/outlines", run, "", MOST_RUNS));
}
