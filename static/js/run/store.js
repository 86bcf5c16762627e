// What happened in one run, built from events in order. An event counts once: those up to the newest seq are dropped.
// Curves are kept apart (charts/curves.js), which this hands every step to.

const KEPT = 300; // newest steps, for the phases and the pace
const LONG = 10; // a step of more times the median is a pause

export class RunStore {
  constructor(curves) {
    this.curves = curves;
    this.followers = [curves];
    this.lastSeq = 0;
    this.steps = []; // {step, tokens, seconds, time, attempt, metrics, skipped}, the newest only
    this.evaluations = []; // events
    this.alerts = [];
    this.checkpoints = [];
    this.forkBefore = null; // a rule asked for a fork from the last checkpoint before this step
    this.settings = []; // settings_changed events
    this.askers = {}; // by revision of the settings, who asked for it
    this.start = ""; // what a fork took
    this.phase = null;
    this.keys = new Set();
    this.hasRecords = false;
  }

  // Other curves that are to hear of every step.
  follow(curves) {
    this.followers.push(curves);
    return curves;
  }

  // the newest step, whatever is known of its curves; 0 before the first
  lastStep() {
    return Math.max(this.steps.at(-1)?.step ?? 0, this.curves.length);
  }

  // Adds the outline that a page starts from: its steps have no metrics but times.
  begin({ events, keys, last_seq }) {
    keys.forEach((key) => this.keys.add(key));
    for (const event of events.filter((one) => one.seq > this.lastSeq)) {
      if (event.kind === "step_completed") this.steps.push(event);
      else this[`on_${event.kind}`]?.(event);
    }
    this.lastSeq = Math.max(this.lastSeq, last_seq);
  }

  // Adds events; returns those that were new.
  add(events) {
    const fresh = events.filter((event) => event.seq > this.lastSeq);
    for (const event of fresh) {
      this.lastSeq = event.seq;
      this[`on_${event.kind}`]?.(event);
    }
    return fresh;
  }

  on_run_started(event) {
    this.start = event.start ?? "";
    this.followers.forEach((curves) => curves.begin(event));
    if (event.attempt > 1) this.forgetAfter(event.resumed_from ?? 0);
  }

  // A new attempt begins at its checkpoint: what an earlier one did beyond it does not count.
  forgetAfter(step) {
    this.steps = this.steps.filter((one) => one.step <= step);
    this.evaluations = this.evaluations.filter((one) => one.step <= step);
    this.alerts = this.alerts.filter((one) => one.step <= step);
    this.settings = this.settings.filter((one) => one.step <= step);
  }

  on_step_completed(event) {
    if (this.steps.length && this.steps.at(-1).step >= event.step)
      this.steps = this.steps.filter((one) => one.step < event.step);
    this.steps.push(event);
    if (this.steps.length > KEPT) this.steps.shift();
    for (const key of Object.keys(event.metrics)) this.keys.add(key);
    this.followers.forEach((curves) => curves.add(event));
  }

  on_evaluation_completed(event) {
    this.evaluations = this.evaluations.filter(
      (one) => !(one.step === event.step && one.environment === event.environment),
    );
    this.evaluations.push(event);
  }

  on_phase_changed(event) {
    this.phase = event;
  }

  on_alert_raised(event) {
    this.alerts.push(event);
  }

  on_settings_changed(event) {
    this.settings.push(event);
  }

  on_checkpoint_saved(event) {
    this.checkpoints = this.checkpoints.filter((one) => one.path !== event.path);
    this.checkpoints.push(event);
  }

  on_run_finished(event) {
    this.forkBefore = event.fork_before ?? null;
  }

  on_trajectories_recorded() {
    this.hasRecords = true;
  }

  // Seconds of the clock from step to step now: the mean over the newest fifty, pauses and restarts left out.
  pace() {
    const recent = this.steps.slice(-51);
    const gaps = recent.flatMap((one, i) => {
      const before = recent[i - 1];
      return before?.attempt === one.attempt ? [one.time - before.time] : [];
    });
    const last = recent.at(-1);
    if (!gaps.length) return last ? last.seconds / last.step : null;
    const middle = gaps.toSorted((one, other) => one - other)[Math.floor(gaps.length / 2)];
    const usual = gaps.filter((gap) => gap <= LONG * middle);
    return usual.reduce((sum, gap) => sum + gap, 0) / usual.length;
  }
}
