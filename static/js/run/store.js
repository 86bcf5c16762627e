// What happened in one run, built from its events in order. An event counts once: those up to the newest seq are
// dropped. Curves keep their own data (charts/curves.js); every step is passed on to them.

/** @import { AlertRaised, Askers, CheckpointEvaluated, CheckpointSaved, EvaluationCompleted } from "../types.js" */
/** @import { HeldOutResult, Outline } from "../types.js" */
/** @import { PhaseChanged } from "../types.js" */
/** @import { RunEvent, RunStarted, SettingsChanged, StepCompleted } from "../types.js" */
/** @import { Curves } from "../charts/curves.js" */
/** @import { Lineage } from "../charts/lineage.js" */

const KEPT = 300; // newest steps, for the phases and the pace
const PACE_STEPS = 50;
const PAUSE = 10; // a step of more times the median is a pause

/**
 * In the order of steps, since a checkpoint may be evaluated long after its step; an earlier result of the same step and
 * environment is replaced.
 * @template {HeldOutResult} T
 * @param {T[]} results
 * @param {T} event
 */
function withResult(results, event) {
  const others = results.filter((one) => one.step !== event.step || one.environment !== event.environment);
  return [...others, event].sort((one, other) => one.step - other.step);
}

export class RunStore {
  lastSeq = 0;
  start = ""; // of a fork: what it copied
  hasRecords = false;
  /** @type {StepCompleted[]} the newest only */
  steps = [];
  /** @type {EvaluationCompleted[]} */
  evaluations = [];
  /** @type {CheckpointEvaluated[]} */
  requestedEvaluations = [];
  /** @type {AlertRaised[]} */
  alerts = [];
  /** @type {CheckpointSaved[]} */
  checkpoints = [];
  /** @type {SettingsChanged[]} */
  settings = [];
  /** @type {Askers} */
  requestedBy = {};
  /** @type {PhaseChanged | null} */
  phase = null;
  /** @type {Set<string>} names of the metrics that there are */
  keys = new Set();
  isLoaded = false; // the outline is there

  /**
   * @param {Curves} curves
   * @param {Lineage} [lineage]
   */
  constructor(curves, lineage) {
    this.curves = curves;
    this.lineage = lineage;
    this.forks = lineage?.forks ?? [];
    if (lineage) curves.before = lineage.before;
    this.followers = [curves];
  }

  /**
   * Other curves that receive every step.
   * @template {Curves} C
   * @param {C} curves
   */
  follow(curves) {
    this.followers.push(curves);
    return curves;
  }

  /** The newest step, whatever is known of its curves; 0 before the first. */
  lastStep() {
    return Math.max(this.steps.at(-1)?.step ?? 0, this.curves.length);
  }

  /**
   * Adds the outline that a page starts from: its steps have no metrics but times.
   * @param {Outline} outline
   */
  begin({ events, keys, last_seq: lastSeq }) {
    this.isLoaded = true;
    keys.forEach((key) => this.keys.add(key));
    for (const event of events.filter((one) => one.seq > this.lastSeq)) {
      if (event.kind === "step_completed") this.steps.push(event);
      else this.apply(event);
    }
    this.lastSeq = Math.max(this.lastSeq, lastSeq);
  }

  /**
   * Adds events; returns those that were new.
   * @param {RunEvent[]} events
   */
  add(events) {
    const fresh = events.filter((event) => event.seq > this.lastSeq);
    for (const event of fresh) {
      this.lastSeq = event.seq;
      this.apply(event);
    }
    return fresh;
  }

  /** @param {RunEvent} event */
  apply(event) {
    switch (event.kind) {
      case "run_started":
        return this.startAttempt(event);
      case "step_completed":
        return this.addStep(event);
      case "evaluation_completed":
        this.evaluations = withResult(this.evaluations, event);
        return undefined;
      case "checkpoint_evaluated":
        this.requestedEvaluations = withResult(this.requestedEvaluations, event);
        return undefined;
      case "phase_changed":
        this.phase = event;
        return undefined;
      case "alert_raised":
        this.alerts.push(event);
        return undefined;
      case "settings_changed":
        this.settings.push(event);
        return undefined;
      case "checkpoint_saved":
        return this.addCheckpoint(event);
      case "trajectories_recorded":
        this.hasRecords = true;
        return undefined;
      default:
        return undefined; // events of kinds that no page shows
    }
  }

  /** @param {RunStarted} event */
  startAttempt(event) {
    this.start = event.start ?? "";
    this.followers.forEach((curves) => curves.begin(event));
    if (event.attempt > 1) this.dropAfter(event.resumed_from ?? 0);
  }

  /**
   * A new attempt begins at its checkpoint: what an earlier one did beyond it does not count.
   * @param {number} step
   */
  dropAfter(step) {
    /** @param {{ step: number }} one */
    const isKept = (one) => one.step <= step;
    this.steps = this.steps.filter(isKept);
    this.evaluations = this.evaluations.filter(isKept);
    this.requestedEvaluations = this.requestedEvaluations.filter(isKept);
    this.alerts = this.alerts.filter(isKept);
    this.settings = this.settings.filter(isKept);
  }

  /** @param {StepCompleted} event */
  addStep(event) {
    if ((this.steps.at(-1)?.step ?? 0) >= event.step) this.steps = this.steps.filter((one) => one.step < event.step);
    this.steps.push(event);
    if (this.steps.length > KEPT) this.steps.shift();
    for (const key of Object.keys(event.metrics)) this.keys.add(key);
    this.followers.forEach((curves) => curves.add(event));
  }

  /** @param {CheckpointSaved} event */
  addCheckpoint(event) {
    this.checkpoints = [...this.checkpoints.filter((one) => one.path !== event.path), event];
  }

  /**
   * Seconds of the clock from step to step now: the mean over the newest fifty, pauses and restarts left out; null
   * before the first step.
   */
  pace() {
    const recent = this.steps.slice(-PACE_STEPS - 1);
    const gaps = recent.flatMap((one, i) => {
      const before = recent[i - 1];
      return before?.attempt === one.attempt ? [one.time - before.time] : [];
    });
    const last = recent.at(-1);
    if (!gaps.length) return last ? last.seconds / last.step : null;
    const median = [...gaps].sort((one, other) => one - other)[Math.floor(gaps.length / 2)];
    const usual = gaps.filter((gap) => gap <= PAUSE * median);
    return usual.reduce((sum, gap) => sum + gap, 0) / usual.length;
  }
}
