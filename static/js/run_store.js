// Everything known of one run, built from events in order. An event counts once: those up to the newest seq are dropped.

export class RunStore {
  constructor() {
    this.lastSeq = 0;
    this.steps = []; // {step, tokens, seconds, time, metrics, skipped}
    this.evaluations = []; // events
    this.alerts = [];
    this.checkpoints = [];
    this.settings = []; // settings_changed events
    this.start = ""; // what a fork took
    this.phase = null;
    this.keys = new Set();
    this.hasRecords = false;
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
    if (event.resumed_from === null || event.resumed_from === undefined) {
      if (event.attempt > 1) this.forgetAfter(0);
      return;
    }
    this.forgetAfter(event.resumed_from);
  }

  // A new attempt begins at its checkpoint: what an earlier one did beyond it does not count.
  forgetAfter(step) {
    this.steps = this.steps.filter((one) => one.step <= step);
    this.evaluations = this.evaluations.filter((one) => one.step <= step);
  }

  on_step_completed(event) {
    this.steps =
      this.steps.length && this.steps.at(-1).step >= event.step
        ? this.steps.filter((one) => one.step < event.step)
        : this.steps;
    this.steps.push(event);
    for (const key of Object.keys(event.metrics)) this.keys.add(key);
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

  on_trajectories_recorded() {
    this.hasRecords = true;
  }

  // Points of one metric as [{x, y, step}], along `axis`: step, tokens, seconds or time.
  series(key, axis) {
    const points = [];
    for (const one of this.steps) {
      const y = one.metrics[key];
      if (y !== undefined) points.push({ x: at(one, axis), y, step: one.step });
    }
    return points;
  }

  // Held-out success of one environment with its interval.
  heldOut(tag, axis) {
    const places = new Map(this.steps.map((one) => [one.step, one]));
    return this.evaluations
      .filter((one) => one.environment === tag)
      .map((one) => {
        const step = places.get(one.step) ?? { step: one.step, tokens: 0, seconds: 0, time: one.time };
        return {
          x: axis === "time" ? new Date(1000 * one.time) : at(step, axis),
          y: one.success,
          low: one.low,
          high: one.high,
          step: one.step,
        };
      });
  }
}

function at(one, axis) {
  return axis === "time" ? new Date(1000 * one.time) : one[axis];
}

// Exponential moving average with its start corrected, so that it begins at the first value.
export function smooth(values, weight) {
  if (!weight) return values;
  let mean = 0;
  let mass = 0;
  return values.map((value) => {
    mass = weight * mass + (1 - weight);
    mean += ((1 - weight) / mass) * (value - mean); // a constant stays exactly what it is
    return mean;
  });
}
