// The runs of a comparison: each has its own store and curves, and is followed while it lives.

import { Curves } from "../charts/curves.js";
import { RunStore } from "../run/store.js";

const OVER = new Set(["finished", "stopped", "failed", "crashed"]);
const A_PAGE = 2000; // events
// What a page asks first is on its way before it is read: `webapp.evaluations.first_curves` words it the same.
const KEYS_A_REQUEST = 24; // as many charts as a comparison has: each run answers once
const [FEW, FEWER_BUCKETS] = [4, 300]; // of more runs over one another, each is drawn with these; closer looks get finer

export class ComparedRun {
  // told: {id, name, colour, group, seed, state, shown_as, label, step}; `onNews()` when something of it has come
  constructor(told, onNews) {
    const { step, ...facts } = told;
    Object.assign(this, facts, { opened: step, onNews });
    this.address = `/api/v1/runs/${told.id}/`;
    this.store = new RunStore(new Curves(`${this.address}bands`, step, onNews));
    this.curves.keysARequest = KEYS_A_REQUEST;
    this.begun = false;
    this.answered = true;
  }

  get curves() {
    return this.store.curves;
  }

  get isOver() {
    return OVER.has(this.state);
  }

  get step() {
    return this.store.steps.at(-1)?.step ?? this.opened;
  }

  /** Asks for what is new, once at a time; `answered` says whether the server did. */
  async follow() {
    if (this.asking || (this.begun && this.isOver)) return;
    this.asking = true;
    this.answered = await (this.begun ? this.hear() : this.begin());
    this.asking = false;
  }

  async begin() {
    const outline = await ask(`${this.address}outline`);
    if (!outline) return false;
    this.store.begin(outline);
    this.begun = true;
    this.onNews();
    return true;
  }

  // Of a run that lives the outline comes first, whose last event is where its news begins: no step is between.
  get mayAsk() {
    return this.isOver || this.begun;
  }

  get isWaiting() {
    return this.curves.isWaiting || (!this.mayAsk && this.answered);
  }

  // The state first: a run that had ended by then has no event that is not there yet.
  async hear() {
    const told = await ask(this.address);
    if (!told) return false;
    for (let more = true; more;) {
      const page = await ask(`${this.address}events?after=${this.store.lastSeq}&limit=${A_PAGE}`);
      if (!page) return false;
      this.store.add(page.events);
      more = page.more;
    }
    const { state, shown_as, label } = told;
    Object.assign(this, { state, shown_as, label });
    return true;
  }
}

async function ask(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  return answer?.ok ? await answer.json().catch(() => null) : null;
}

/** What a grid of charts asks its curves, asked of those of every run that is shown. */
export class CurvesOfRuns {
  constructor(runs, view) {
    Object.assign(this, { runs, view });
    if (runs.length > FEW) runs.forEach((run) => (run.curves.buckets = FEWER_BUCKETS));
  }

  get shownRuns() {
    return this.runs.filter((run) => !this.view.hidden.includes(run.id));
  }

  get shown() {
    return this.shownRuns.map((run) => run.curves);
  }

  /** Of the run that has come furthest. */
  get places() {
    const all = this.shown.map((curves) => curves.places);
    return all.reduce((far, places) => ((places.at(-1)?.step ?? 0) > (far.at(-1)?.step ?? 0) ? places : far), []);
  }

  want(keys) {
    this.shownRuns.filter((run) => run.mayAsk).forEach((run) => run.curves.want(keys));
  }

  // A drawing is of all runs, so that those which come one after the other are drawn together.
  get isWaiting() {
    return this.shownRuns.some((run) => run.isWaiting);
  }

  // a window of steps for each
  stepsBetween(axis, window) {
    return this.shown.map((curves) => curves.stepsBetween(axis, window));
  }

  ends(axis) {
    const all = this.shown.map((curves) => curves.ends(axis)).filter(Boolean);
    if (!all.length) return null;
    const [first, last] = [Math.min(...all.map((one) => one.first)), Math.max(...all.map((one) => one.last))];
    return { first, last, steps: Math.max(...all.map((one) => one.steps)) };
  }

  look(keys, windows) {
    this.shown.forEach((curves, i) => curves.look(keys, windows && windows[i]));
  }

  isLoaded(key) {
    return this.shown.every((curves) => curves.isLoaded(key));
  }

  revisionOf(keys) {
    return this.shown.map((curves) => curves.revisionOf(keys)).join("+");
  }
}
