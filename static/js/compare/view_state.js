// The view of several runs: as for one run, and which metrics, which runs are hidden, and the band of groups.

import { RunView, setQuery } from "../run/view_state.js";

export class CompareView extends RunView {
  /**
   * @param {string} address
   * @param {string[]} metrics
   */
  constructor(address, metrics) {
    super(address);
    const { searchParams } = new URL(address);
    this.metrics = metrics;
    this.hidden = (searchParams.get("hidden") ?? "").split(",").filter(Boolean); // ids of runs
    /** @type {number | null} */
    this.step = null; // no step is chosen here
    this.band = searchParams.get("band") ?? "";
  }

  /**
   * @param {string[]} ids
   * @param {boolean} hidden
   */
  hide(ids, hidden) {
    const others = this.hidden.filter((id) => !ids.includes(id));
    this.hidden = hidden ? [...others, ...ids] : others;
    this.remember();
  }

  /** @param {string[]} metrics */
  setMetrics(metrics) {
    this.metrics = metrics;
    this.remember();
  }

  /** @param {string} band around the mean of a group */
  setBand(band) {
    this.band = band;
    this.remember();
  }

  remember() {
    super.remember();
    const next = new URL(location.href);
    setQuery(next, "metrics", this.metrics.join(","));
    setQuery(next, "hidden", this.hidden.join(","));
    setQuery(next, "band", this.band);
    history.replaceState(null, "", readable(next));
  }
}

/**
 * An address in which commas and slashes of its query stand as they are.
 * @param {URL} address
 */
export const readable = (address) => address.href.replaceAll("%2C", ",").replaceAll("%2F", "/");
