// How the reader looks at several runs: as at one, and which metrics, which runs are hidden, and whether seeds are
// drawn as their mean.

import { RunView } from "../run/view_state.js";

const LISTS = ["metrics", "hidden"];

export class CompareView extends RunView {
  constructor(address, metrics) {
    super(address);
    const { searchParams } = new URL(address);
    this.metrics = metrics;
    this.hidden = (searchParams.get("hidden") ?? "").split(",").filter(Boolean); // ids of runs
    this.step = null; // no step is chosen here
    this.seeds = searchParams.get("seeds") === "mean";
  }

  hide(ids, hidden) {
    const others = this.hidden.filter((id) => !ids.includes(id));
    this.look({ hidden: hidden ? [...others, ...ids] : others });
  }

  remember() {
    super.remember();
    const next = new URL(location.href);
    for (const name of LISTS) {
      if (this[name].length) next.searchParams.set(name, this[name].join(","));
      else next.searchParams.delete(name);
    }
    if (this.seeds) next.searchParams.set("seeds", "mean");
    else next.searchParams.delete("seeds");
    history.replaceState(null, "", readable(next));
  }
}

/** An address in which commas and slashes of its query stand as they are. */
export const readable = (address) => address.href.replaceAll("%2C", ",").replaceAll("%2F", "/");
