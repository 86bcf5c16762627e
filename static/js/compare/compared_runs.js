// The runs of a comparison: each has its own store and curves, and is polled while it is live.

import { Curves } from "../charts/curves.js";
import { Lineage } from "../charts/lineage.js";
import { listed } from "../charts/positions.js";
import { getJson } from "../core/requests.js";
import { bandsOf, outlineOf } from "./batches.js";
import { hasEnded } from "../run/states.js";
import { RunStore } from "../run/store.js";

/** @import { Axis, Ends, EventPage, LineageFacts, Point, Position, RunState, Window } from "../types.js" */
/** @import { GroupCurves } from "./group_curves.js" */

const A_PAGE = 2000; // events
const KEYS_A_REQUEST = 24; // as many charts as a comparison has
const [FEW, FEWER_BUCKETS] = [4, 300]; // of more runs, each is drawn with these; zooming in requests finer ones

/**
 * @typedef {object} RunFacts a run as the page was written with it
 * @property {string} id
 * @property {string} name
 * @property {number} colour
 * @property {number} dash pattern of its lines; 0 is solid
 * @property {LineageFacts} lineage
 * @property {number | null} seed
 * @property {string} state
 * @property {string} shown_as
 * @property {string} label
 * @property {number} step
 */

/** The curves of one run of several, which are requested together. */
class CurvesOfOne extends Curves {
  /**
   * @param {string} run
   * @param {number} hint
   * @param {() => void} onUpdate
   */
  constructor(run, hint, onUpdate) {
    super("", hint, onUpdate);
    this.run = run;
  }

  /**
   * @param {string[]} keys
   * @param {string} window
   */
  async request(keys, window) {
    return bandsOf(this.run, `keys=${listed(keys)}${this.howMany()}${window}`, keys.length);
  }
}

export class ComparedRun {
  /**
   * @param {RunFacts} facts
   * @param {() => void} onUpdate
   */
  constructor(facts, onUpdate) {
    this.id = facts.id;
    this.name = facts.name;
    this.colour = facts.colour;
    this.dash = facts.dash;
    this.seed = facts.seed;
    this.state = facts.state;
    this.shown_as = facts.shown_as;
    this.label = facts.label;
    this.opened = facts.step;
    this.onUpdate = onUpdate;
    this.address = `/api/v1/runs/${facts.id}/`;
    this.lineage = new Lineage(facts.lineage, onUpdate);
    this.store = new RunStore(new CurvesOfOne(facts.id, facts.step, onUpdate), this.lineage);
    this.asking = false;
    this.curves.keysARequest = KEYS_A_REQUEST;
    this.begun = false;
    this.answered = true;
  }

  get curves() {
    return this.store.curves;
  }

  get isOver() {
    return hasEnded(this.state);
  }

  get step() {
    return this.store.steps.at(-1)?.step ?? this.opened;
  }

  /** Requests what is new, one request at a time; `answered` says whether the server answered. */
  async follow() {
    if (this.asking || (this.begun && this.isOver)) return;
    this.asking = true;
    this.answered = await (this.begun ? this.poll() : this.begin());
    this.asking = false;
  }

  async begin() {
    const outline = await outlineOf(this.id);
    if (!outline) return false;
    this.store.begin(outline);
    this.begun = true;
    this.onUpdate();
    return true;
  }

  // Of a live run the outline comes first: updates begin at its last event, so that no step is missed.
  get mayAsk() {
    return this.isOver || this.begun;
  }

  get isWaiting() {
    return this.curves.isWaiting || (!this.mayAsk && this.answered);
  }

  // The state first: a run that had ended by then has no further events.
  async poll() {
    /** @type {RunState | null} */
    const next = await getJson(this.address);
    if (!next) return false;
    for (let more = true; more;) {
      /** @type {EventPage | null} */
      const page = await getJson(`${this.address}events?after=${this.store.lastSeq}&limit=${A_PAGE}`);
      if (!page) return false;
      this.store.add(page.events);
      more = page.more;
    }
    this.state = next.state;
    this.shown_as = next.shown_as;
    this.label = next.label;
    return true;
  }
}

/** The curves of every line that is shown, for a grid of charts: of single runs, and of groups. */
export class CurvesOfRuns {
  /**
   * @param {ComparedRun[]} runs
   * @param {() => ComparedRun[]} alone runs with a line of their own
   * @param {GroupCurves} groups
   */
  constructor(runs, alone, groups) {
    this.alone = alone;
    this.groups = groups;
    if (runs.length > FEW) {
      runs.forEach((run) => {
        run.curves.buckets = FEWER_BUCKETS;
      });
    }
  }

  get shownRuns() {
    return this.alone();
  }

  get shown() {
    return [...this.shownRuns.map((run) => run.curves), this.groups];
  }

  /** @param {string[]} keys */
  want(keys) {
    this.shownRuns.filter((run) => run.mayAsk).forEach((run) => run.curves.want(keys));
    this.groups.want(keys);
  }

  // Runs whose curves come one after the other are drawn together.
  get isWaiting() {
    return this.groups.isWaiting || this.shownRuns.some((run) => run.isWaiting);
  }

  /**
   * @param {Axis} axis
   * @returns {Ends | null}
   */
  ends(axis) {
    const all = this.shown.flatMap((curves) => curves.ends(axis) ?? []);
    if (!all.length) return null;
    const [first, last] = [Math.min(...all.map((one) => one.first)), Math.max(...all.map((one) => one.last))];
    return { first, last, steps: Math.max(...all.map((one) => one.steps)) };
  }

  /**
   * @param {string[]} keys
   * @param {Axis} axis
   * @param {Window | null} window
   */
  zoom(keys, axis, window) {
    this.shownRuns.forEach((run) => run.curves.zoom(keys, axis, window));
    this.shownRuns.forEach((run) => run.lineage.want(keys, axis, window));
  }

  /** @returns {Point[]} a chart of several runs reads the points of each run */
  points() {
    return [];
  }

  /** @returns {Position | null} */
  position() {
    return null;
  }

  isSparse() {
    return false;
  }

  /** @param {string} key */
  isLoaded(key) {
    return this.shown.every((curves) => curves.isLoaded(key));
  }

  /** @param {string[]} keys */
  revisionOf(keys) {
    const all = [...this.shownRuns.flatMap((run) => [run.curves, run.lineage]), this.groups];
    return all.map((curves) => curves.revisionOf(keys)).join("+");
  }
}
