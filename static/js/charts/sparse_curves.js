// Curves of what is measured every few steps: only the steps that have it, each with its own values and not a mean over
// its neighbours, however long the run is.

import { Curves } from "./curves.js";
import { listed } from "./positions.js";

/** @import { Metrics } from "../types.js" */

const MOST = 5000; // steps that have it; of more, so many are sent, evenly taken
const KEYS_A_REQUEST = 60;

export class SparseCurves extends Curves {
  /**
   * @param {Curves} all the curves of the run
   * @param {string[]} having a step is taken if it has one of these metrics
   */
  constructor(all, having) {
    super(all.address, all.hint, all.onUpdate);
    this.having = having;
    this.most = 1.2 * MOST;
    this.keysARequest = KEYS_A_REQUEST;
    this.starts = new Map(all.starts);
  }

  howMany() {
    return `&buckets=${MOST}&having=${listed(this.having)}`;
  }

  /** @param {{ metrics: Metrics }} event */
  takes({ metrics }) {
    return this.having.some((name) => metrics[name] !== undefined);
  }
}
