// Curves of what is measured every few steps: of the steps that have it and no others, each with its own values, so that
// what is told of a step was measured at it however long the run is.

import { Curves, listed } from "./curves.js";

const MOST = 5000; // steps that have it; of more, so many are sent, evenly taken
const KEYS_A_REQUEST = 60;

export class MeasuredCurves extends Curves {
  // of the run whose curves `all` are; a step has it that has one of the metrics `having`
  constructor(all, having) {
    super(all.address, all.hint, all.onNews);
    Object.assign(this, { having, most: 1.2 * MOST, keysARequest: KEYS_A_REQUEST, starts: new Map(all.starts) });
  }

  howMany() {
    return `&buckets=${MOST}&having=${listed(this.having)}`;
  }

  takes({ metrics }) {
    return this.having.some((name) => metrics[name] !== undefined);
  }
}
