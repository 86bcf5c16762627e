// The curves of one run. A curve is requested when a chart that shows it comes into view, extended by new steps, and
// requested again, for a window of steps, where it was thinned and the reader zooms in.

import { getJson } from "../core/requests.js";
import { endsOf, everyStepOf, haveSameSteps, listed, pointsOf } from "./positions.js";
import { positionAt, positionsOf, stepsBetween } from "./positions.js";

/** @import { Axis, Bands, Curve, Detail, Ends, Metrics, Point, Position, RunStarted, StepCompleted, Window } from "../types.js" */

const SHORT = 2000; // steps of a run that is sent whole
const BUCKETS = 600; // of a longer one: each with its mean and extremes
const MOST = 2 * SHORT; // positions of a curve that grew by new steps, before it is thinned again
const KEYS_A_REQUEST = 8;
const FRESH_KEPT = 500;
const RETRY = 2000;
const SETTLED = 120; // milliseconds without a change of the window

/** @returns {Curve} */
const unknown = () => ({
  points: null,
  positions: [],
  spans: [],
  seq: 0,
  thinned: false,
  detail: null,
  revision: 0,
  stale: false,
  asking: false,
});

export class Curves {
  most = MOST;
  keysARequest = KEYS_A_REQUEST;
  buckets = BUCKETS;
  before = 0; // steps of the run's ancestors
  revision = 0;
  zoomed = false;

  /** @type {Map<string, Curve>} */
  known = new Map();

  /** @type {Position[]} all steps, or the ends of the buckets, of the newest answer */
  positions = [];

  /** @type {StepCompleted[]} newest steps, for answers that were in progress when they came */
  fresh = [];

  /** @type {Map<number, number>} when the engine of an attempt reported that it had started */
  starts = new Map();

  /** @type {{ attempt: number, from: number } | undefined} */
  resumed = undefined;

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  settling = undefined;

  /**
   * @param {string} address of the bands
   * @param {number} hint about how many steps there are
   * @param {() => void} onUpdate called when an answer has come
   */
  constructor(address, hint, onUpdate) {
    this.address = address;
    this.hint = hint;
    this.onUpdate = onUpdate;
  }

  get length() {
    return this.positions.at(-1)?.step ?? 0;
  }

  /** @param {string} key */
  isLoaded(key) {
    return Boolean(this.known.get(key)?.points);
  }

  /** Whether something was requested of which nothing is there yet. */
  get isWaiting() {
    return [...this.known.values()].some((one) => one.asking && !one.points);
  }

  get isAsking() {
    return [...this.known.values()].some((one) => one.asking);
  }

  /** @param {string[]} keys those that are missing or stale are requested */
  want(keys) {
    this.loadAll(keys.filter((key) => this.isDue(key)));
  }

  /** @param {string} key */
  isDue(key) {
    const one = this.known.get(key);
    return !one || (!one.asking && (one.stale || !one.points));
  }

  /**
   * Whether all of `keys` are there at the same positions, to be read step by step. Those of a long run that were
   * requested at different times have different buckets: then all are requested again, up to one step.
   * @param {string[]} keys
   */
  wantTogether(keys) {
    const ones = keys.map((key) => this.known.get(key));
    const loaded = ones.every((one) => one?.points);
    const together = loaded && ones.every((one) => haveSameSteps(one?.positions ?? [], ones[0]?.positions ?? []));
    const due = keys.filter((key) => this.isDue(key));
    const misaligned = (loaded && !together) || (due.length && ones.some((one) => one?.thinned));
    const upTo = this.length ? `&to=${this.length}` : "";
    if (!ones.some((one) => one?.asking)) this.loadAll(misaligned ? keys : due, upTo);
    return together;
  }

  /** @param {string[]} keys */
  loadAll(keys, window = "") {
    const size = this.keysARequest;
    for (let i = 0; i < keys.length; i += size) this.load(keys.slice(i, i + size), window);
  }

  /**
   * @param {string[]} keys
   * @param {string} window
   */
  async load(keys, window) {
    for (const key of keys) {
      const one = this.known.get(key) ?? unknown();
      this.known.set(key, { ...one, asking: true, stale: false, detail: null });
    }
    const answer = await this.request(keys, window);
    if (!answer) setTimeout(() => this.allowRetry(keys), RETRY);
    else if (this.isOutdated(keys, answer)) this.allowRetry(keys);
    else this.fill(keys, answer);
    this.onUpdate();
  }

  /**
   * Whether an attempt has begun since the request, which the response does not include.
   * @param {string[]} keys
   * @param {Bands} answer
   */
  isOutdated(keys, { steps, attempts }) {
    const { resumed } = this;
    if (!resumed || !keys.some((key) => this.known.get(key)?.stale)) return false;
    return (steps.at(-1) ?? 0) > resumed.from && (attempts.at(-1) ?? 0) < resumed.attempt;
  }

  /** @param {string[]} keys */
  allowRetry(keys) {
    for (const key of keys) Object.assign(this.known.get(key) ?? {}, { asking: false, stale: true });
  }

  /**
   * Takes the answer of the server, as `webapp.live.bands` describes it.
   * @param {string[]} keys
   * @param {Bands} answer
   */
  fill(keys, answer) {
    const positions = positionsOf(answer, this.before);
    this.positions = positions;
    for (const key of keys) {
      const points = pointsOf(positions, answer.series[key]);
      const { thinned, spans, last_seq: seq = 0 } = answer;
      const one = this.known.get(key) ?? unknown();
      this.touch({ ...one, points, positions, spans, seq, thinned, asking: false, stale: false }, key);
    }
    for (const event of this.fresh) this.append(event);
  }

  /**
   * @param {string[]} keys
   * @param {string} window
   * @returns {Promise<Bands | null>}
   */
  async request(keys, window) {
    const query = `keys=${listed(keys)}${this.howMany()}${window}`;
    return getJson(`${this.address}?${query}`);
  }

  howMany() {
    return `&buckets=${Math.max(this.length, this.hint) > SHORT ? this.buckets : SHORT}`;
  }

  /** @param {StepCompleted} event */
  add(event) {
    if (!this.takes(event)) return;
    this.fresh.push(event);
    if (this.fresh.length > FRESH_KEPT && !this.isAsking) this.fresh.splice(0, this.fresh.length - FRESH_KEPT);
    this.append(event);
  }

  /** @param {{ metrics: Metrics }} _event a step; whether it has a position here */
  takes(_event) {
    return true;
  }

  /** @param {StepCompleted} event */
  append(event) {
    const position = this.positionOf(event);
    const behind = new Set([...this.allPositions()].filter((all) => position.step > (all.at(-1)?.step ?? 0)));
    behind.forEach((all) => all.push(position));
    for (const [key, one] of this.known) {
      if (!one.points || !behind.has(one.positions)) continue;
      if (event.metrics[key] !== undefined) one.points.push({ ...position, y: event.metrics[key] });
      this.touch(one, key);
      if (one.asking) continue;
      if (one.positions.length > this.most) one.stale = true;
      if (one.positions.length > 2 * this.most) this.known.delete(key); // not shown for long
    }
  }

  /** Keys that came in one answer share theirs. */
  allPositions() {
    const loaded = [...this.known.values()].filter((one) => one.points);
    return new Set([this.positions, ...loaded.map((one) => one.positions)]);
  }

  /**
   * An attempt resumes from a step: what came after it no longer counts and is requested again, unless the answer had
   * steps of that attempt already.
   * @param {RunStarted} event
   */
  begin(event) {
    this.starts.set(event.attempt, event.time);
    if (event.attempt === 1) return;
    const from = event.resumed_from ?? 0;
    this.resumed = { attempt: event.attempt, from };
    this.fresh = this.fresh.filter((one) => one.step <= from);
    const newer = new Set([...this.known.values()].filter((one) => one.seq > event.seq).map((one) => one.positions));
    for (const all of this.allPositions()) {
      if (!newer.has(all)) while ((all.at(-1)?.step ?? 0) > from) all.pop();
    }
    for (const [key, one] of this.known) {
      if (newer.has(one.positions)) continue;
      Object.assign(one, { stale: true, detail: null });
      if (!one.points) continue;
      one.points = one.points.filter((point) => point.step <= from);
      this.touch(one, key);
    }
  }

  /**
   * @param {Curve} curve
   * @param {string} key
   */
  touch(curve, key) {
    this.revision += 1;
    curve.revision = this.revision;
    this.known.set(key, curve);
  }

  /**
   * @param {StepCompleted} event
   * @returns {Position}
   */
  positionOf({ step, tokens, seconds, time, attempt }) {
    const last = this.positions.findLast((one) => one.step < step);
    const since = last && last.attempt === attempt ? last.time : (this.starts.get(attempt) ?? time);
    const elapsed = (last?.elapsed ?? 0) + Math.max(0, time - since);
    return { step, lineage: step + this.before, tokens, seconds, time, attempt, elapsed };
  }

  /**
   * Requests what was thinned of `keys` in a window, once the window has settled; null shows the whole run.
   * @param {string[]} keys
   * @param {Axis} axis
   * @param {Window | null} window
   */
  zoom(keys, axis, window) {
    this.zoomed = Boolean(window);
    if (!window) return;
    const [from, to] = this.stepsBetween(axis, window);
    const wanted = keys.flatMap((key) => {
      const one = this.known.get(key);
      return one?.points && one.thinned && !(one.detail?.from === from && one.detail.to === to) ? [one] : [];
    });
    if (!wanted.length) return;
    for (const one of wanted) one.detail = { from, to, points: null };
    clearTimeout(this.settling);
    this.settling = setTimeout(() => this.loadDetails(), SETTLED);
  }

  loadDetails() {
    /** @type {Map<string, [key: string, detail: Detail][]>} */
    const byWindow = new Map();
    for (const [key, { detail }] of this.known) {
      if (!detail || detail.points || detail.asking) continue;
      const window = `&from=${detail.from}&to=${detail.to}`;
      byWindow.set(window, [...(byWindow.get(window) ?? []), [key, detail]]);
    }
    for (const [window, entries] of byWindow) {
      for (let i = 0; i < entries.length; i += KEYS_A_REQUEST) {
        this.loadDetail(entries.slice(i, i + KEYS_A_REQUEST), window);
      }
    }
  }

  /**
   * @param {[key: string, detail: Detail][]} entries
   * @param {string} window
   */
  async loadDetail(entries, window) {
    for (const [, detail] of entries) detail.asking = true;
    const keys = entries.map(([key]) => key);
    const answer = await this.request(keys, window);
    for (const [, detail] of entries) detail.asking = false;
    if (!answer) return;
    const positions = positionsOf(answer, this.before);
    for (const [key, detail] of entries) {
      detail.points = pointsOf(positions, answer.series[key]);
      const one = this.known.get(key);
      if (one) this.touch(one, key);
    }
    this.onUpdate();
  }

  /**
   * Every position of `keys`, which have the same, with the values there. `first` is the first step of a thinned range.
   * @param {string[]} keys
   * @returns {(Position & { metrics: Metrics })[]}
   */
  table(keys) {
    const { positions, thinned } = this.known.get(keys[0]) ?? { positions: this.positions, thinned: false };
    const rows = new Map(
      positions.map(({ first, ...position }) => {
        /** @type {Metrics} */
        const metrics = {};
        return [position.step, thinned ? { ...position, first, metrics } : { ...position, metrics }];
      }),
    );
    for (const key of keys) {
      for (const { step, y } of this.known.get(key)?.points ?? []) {
        const row = rows.get(step);
        if (row) row.metrics[key] = y;
      }
    }
    return [...rows.values()];
  }

  /**
   * Every step that the positions of `key` stand for, in order.
   * @param {string} key
   */
  everyStep(key) {
    const one = this.known.get(key);
    return one ? everyStepOf(one.spans, one.positions) : everyStepOf([], this.positions);
  }

  /**
   * The points of a metric in order, at full resolution in the window that the reader has zoomed to.
   * @param {string} key
   * @returns {Point[]}
   */
  points(key) {
    const one = this.known.get(key);
    if (!one?.points) return [];
    const detail = one.detail?.points ?? [];
    if (!this.zoomed || !detail.length) return one.points;
    const [from, to] = [detail[0].step, detail[detail.length - 1].step];
    return [
      ...one.points.filter((point) => point.step < from),
      ...detail,
      ...one.points.filter((point) => point.step > to),
    ];
  }

  /**
   * Whether fewer than half of the steps have the metric: its points are marked, and not smoothed.
   * @param {string} key
   */
  isSparse(key) {
    const one = this.known.get(key);
    return !one?.points || one.points.length < 2 || one.points.length < one.positions.length / 2;
  }

  /** @param {string[]} keys */
  revisionOf(keys) {
    return keys.map((key) => this.known.get(key)?.revision ?? 0).join("-");
  }

  /** @param {number} step */
  position(step) {
    return positionAt(this.positions, step);
  }

  /**
   * The first and last value of an axis, and how many steps are between; null for fewer than two steps.
   * @param {Axis} axis
   * @returns {Ends | null}
   */
  ends(axis) {
    return endsOf(this.positions, axis);
  }

  /**
   * @param {Axis} axis
   * @param {Window} window
   */
  stepsBetween(axis, window) {
    return stepsBetween(this.positions, axis, window);
  }
}
