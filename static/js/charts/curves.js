// The curves of one run. A curve is asked for when a chart that shows it comes into view, kept up with the news, and
// asked for again, for a window of steps, where it was thinned and the reader looks closer.

const SHORT = 2000; // steps of a run that is sent whole
const BUCKETS = 600; // of a longer one: each with its mean and extremes
const MOST = 2 * SHORT; // places of a curve that grew by the news, before it is thinned again
const KEYS_A_REQUEST = 8;
const FRESH_KEPT = 500;
const RETRY = 2000;

export class Curves {
  // `address` of the bands; about how many steps there are; `onNews()` when something asked for has come
  constructor(address, hint, onNews) {
    Object.assign(this, { address, hint, onNews });
    this.most = MOST;
    this.keysARequest = KEYS_A_REQUEST;
    this.buckets = BUCKETS;
    this.known = new Map(); // key -> {points, places, spans, seq, thinned, detail, revision, stale, asking}
    // {step, tokens, seconds, time, elapsed, attempt} of all steps, or of the buckets' ends: those of the newest answer
    this.places = [];
    this.fresh = []; // step events, for answers that were under way when they came
    this.starts = new Map(); // attempt -> when its engine said that it had started
    this.revision = 0;
  }

  get length() {
    return this.places.at(-1)?.step ?? 0;
  }

  isLoaded(key) {
    return Boolean(this.known.get(key)?.points);
  }

  // whether something was asked for of which nothing is there yet
  get isWaiting() {
    return [...this.known.values()].some((one) => one.asking && !one.points);
  }

  get isAsking() {
    return [...this.known.values()].some((one) => one.asking);
  }

  // Asks for those of `keys` that are not there or no longer right.
  want(keys) {
    this.loadAll(keys.filter((key) => this.isDue(key)));
  }

  isDue(key) {
    const one = this.known.get(key);
    return !one || (!one.asking && (one.stale || !one.points));
  }

  // Whether all of `keys` are there in the same places, to be read step by step. Those of a long run that were asked
  // for at different times have different buckets: then all are asked for again, up to one step.
  wantTogether(keys) {
    const ones = keys.map((key) => this.known.get(key));
    const loaded = ones.every((one) => one?.points);
    const together = loaded && ones.every((one) => haveSameSteps(one.places, ones[0].places));
    const due = keys.filter((key) => this.isDue(key));
    const apart = (loaded && !together) || (due.length && ones.some((one) => one?.thinned));
    if (!ones.some((one) => one?.asking)) this.loadAll(apart ? keys : due, this.length ? `&to=${this.length}` : "");
    return together;
  }

  loadAll(keys, window = "") {
    const many = this.keysARequest;
    for (let i = 0; i < keys.length; i += many) this.load(keys.slice(i, i + many), window);
  }

  async load(keys, window) {
    for (const key of keys)
      this.known.set(key, { revision: 0, ...this.known.get(key), asking: true, stale: false, detail: null });
    const answer = await this.ask(keys, window);
    if (!answer) setTimeout(() => this.letAskAgain(keys), RETRY);
    else if (this.isOvertaken(keys, answer)) this.letAskAgain(keys);
    else this.fill(keys, answer);
    this.onNews();
  }

  // An attempt has begun since it was asked for, which the answer does not know of.
  isOvertaken(keys, { steps, attempts }) {
    const begun = keys.some((key) => this.known.get(key).stale);
    return begun && steps.at(-1) > this.begun.from && attempts.at(-1) < this.begun.attempt;
  }

  letAskAgain(keys) {
    keys.forEach((key) => Object.assign(this.known.get(key), { asking: false, stale: true }));
  }

  // the answer of the server, as `webapp.live.bands` words it
  fill(keys, answer) {
    const places = placesOf(answer);
    this.places = places;
    for (const key of keys) {
      const known = this.known.get(key) ?? { revision: 0 };
      const points = pointsOf(places, answer.series[key]);
      const { thinned, spans, last_seq: seq } = answer;
      this.known.set(key, { ...known, points, places, spans, seq, thinned, asking: false, stale: false });
      this.touch(key);
    }
    for (const event of this.fresh) this.append(event);
  }

  async ask(keys, window) {
    const query = `keys=${listed(keys)}${this.howMany()}${window}`;
    const headers = { Accept: "application/json" };
    const answer = await fetch(`${this.address}?${query}`, { headers }).catch(() => null);
    return answer?.ok ? await answer.json() : null;
  }

  howMany() {
    return `&buckets=${Math.max(this.length, this.hint) > SHORT ? this.buckets : SHORT}`;
  }

  add(event) {
    if (!this.takes(event)) return;
    this.fresh.push(event);
    if (this.fresh.length > FRESH_KEPT && !this.isAsking) this.fresh.splice(0, this.fresh.length - FRESH_KEPT);
    this.append(event);
  }

  // whether a step has a place here
  takes() {
    return true;
  }

  append(event) {
    const place = this.placeOf(event);
    const behind = new Set([...this.allPlaces()].filter((places) => place.step > (places.at(-1)?.step ?? 0)));
    behind.forEach((places) => places.push(place));
    for (const [key, one] of this.known) {
      if (!one.points || !behind.has(one.places)) continue;
      if (event.metrics[key] !== undefined) one.points.push({ ...place, y: event.metrics[key] });
      this.touch(key);
      if (one.asking) continue;
      if (one.places.length > this.most) one.stale = true;
      if (one.places.length > 2 * this.most) this.known.delete(key); // nobody has looked at it for long
    }
  }

  // keys that came in one answer share theirs
  allPlaces() {
    return new Set([this.places, ...[...this.known.values()].flatMap((one) => (one.points ? [one.places] : []))]);
  }

  // An attempt goes on from a step: what came after it no longer counts, and is asked for again, unless the answer had
  // steps of that attempt already.
  begin(event) {
    this.starts.set(event.attempt, event.time);
    if (event.attempt === 1) return;
    const from = event.resumed_from ?? 0;
    this.begun = { attempt: event.attempt, from };
    this.fresh = this.fresh.filter((one) => one.step <= from);
    const newer = new Set([...this.known.values()].filter(({ seq }) => seq > event.seq).map(({ places }) => places));
    for (const places of this.allPlaces()) if (!newer.has(places)) while (places.at(-1)?.step > from) places.pop();
    for (const [key, one] of this.known) {
      if (newer.has(one.places)) continue;
      Object.assign(one, { stale: true, detail: null });
      if (!one.points) continue;
      one.points = one.points.filter((point) => point.step <= from);
      this.touch(key);
    }
  }

  touch(key) {
    this.revision += 1;
    this.known.get(key).revision = this.revision;
  }

  placeOf({ step, tokens, seconds, time, attempt }) {
    const last = this.places.findLast((one) => one.step < step);
    const since = last && last.attempt === attempt ? last.time : (this.starts.get(attempt) ?? time);
    return { step, tokens, seconds, time, attempt, elapsed: (last?.elapsed ?? 0) + Math.max(0, time - since) };
  }

  // Asks again for what was thinned of `keys` in the steps [from, to], once the reader holds still; null for the whole.
  look(keys, window) {
    this.closer = Boolean(window);
    if (!window) return;
    const [from, to] = window;
    const wanted = keys.filter((key) => {
      const one = this.known.get(key);
      return one?.points && one.thinned && !(one.detail?.from === from && one.detail?.to === to);
    });
    if (!wanted.length) return;
    for (const key of wanted) this.known.get(key).detail = { from, to, points: null };
    clearTimeout(this.looking);
    this.looking = setTimeout(() => this.loadWindows(), 120);
  }

  loadWindows() {
    const open = [...this.known].filter(([, one]) => one.detail && !one.detail.points && !one.detail.asking);
    const groups = Map.groupBy(open, ([, one]) => `&from=${one.detail.from}&to=${one.detail.to}`);
    for (const [window, entries] of groups)
      for (let i = 0; i < entries.length; i += KEYS_A_REQUEST)
        this.loadWindow(entries.slice(i, i + KEYS_A_REQUEST), window);
  }

  async loadWindow(entries, window) {
    const details = entries.map(([, one]) => one.detail);
    details.forEach((detail) => (detail.asking = true));
    const answer = await this.ask(
      entries.map(([key]) => key),
      window,
    );
    details.forEach((detail) => (detail.asking = false));
    if (!answer) return;
    const places = placesOf(answer);
    entries.forEach(([key], index) => {
      details[index].points = pointsOf(places, answer.series[key]);
      this.touch(key);
    });
    this.onNews();
  }

  // Every place of `keys`, which have the same, with the values there: {...place, metrics}. `first` is the first step of
  // a stretch that was thinned.
  table(keys) {
    const { places, thinned } = this.known.get(keys[0]) ?? { places: this.places };
    const rows = new Map(places.map((place) => [place.step, { ...place, metrics: {} }]));
    if (!thinned) for (const row of rows.values()) delete row.first; // there was nothing between
    for (const key of keys) for (const { step, y } of this.known.get(key).points) rows.get(step).metrics[key] = y;
    return [...rows.values()];
  }

  // Every step that the places of `key` stand for, in order.
  everyStep(key) {
    const { places, spans } = this.known.get(key) ?? { places: this.places, spans: [] };
    const end = places.at(-1)?.step ?? 0; // an attempt may have gone back
    const told = spans.flatMap(([first, last, every]) =>
      Array.from({ length: 1 + (last - first) / every }, (_, i) => first + i * every),
    );
    const upto = told.at(-1) ?? 0;
    const since = places.map(({ step }) => step).filter((step) => step > upto);
    return [...told.filter((step) => step <= end), ...since];
  }

  // The points of a metric in order, with the closer look where the reader takes one.
  points(key) {
    const one = this.known.get(key);
    if (!one?.points) return [];
    const { detail } = one;
    if (!this.closer || !detail?.points?.length) return one.points;
    return [
      ...one.points.filter((point) => point.step < detail.points[0].step),
      ...detail.points,
      ...one.points.filter((point) => point.step > detail.points.at(-1).step),
    ];
  }

  // fewer than half of the steps have it: its points are marked, and not smoothed
  isSparse(key) {
    const one = this.known.get(key);
    return !one?.points || one.points.length < 2 || one.points.length < one.places.length / 2;
  }

  revisionOf(keys) {
    return keys.map((key) => this.known.get(key)?.revision ?? 0).join("-");
  }

  // Where a step lies on every axis, between its neighbours where it was thinned away; null beyond the ends.
  place(step) {
    const after = this.places.findIndex((one) => one.step >= step);
    if (after < 0) return null;
    const high = this.places[after];
    const low = this.places[after - 1];
    if (high.step === step) return high;
    if (!low) return step >= high.first ? { ...high, step } : null; // within the first stretch
    const share = (step - low.step) / (high.step - low.step);
    const between = (name) => low[name] + share * (high[name] - low[name]);
    const [tokens, seconds, time, elapsed] = ["tokens", "seconds", "time", "elapsed"].map(between);
    return { step, tokens, seconds, time, elapsed };
  }

  // The first and last value of an axis, and how many steps lie between; null for fewer than two.
  ends(axis) {
    const [first, last] = [this.places[0], this.places.at(-1)];
    if (!first || first === last) return null;
    return { first: coordinate(first, axis), last: coordinate(last, axis), steps: last.step - first.step };
  }

  // The steps between two values of an axis, with a neighbour on each side.
  stepsBetween(axis, [from, to]) {
    const inside = this.places.map((place, index) => [coordinate(place, axis), index]);
    const first = inside.findLast(([x]) => x <= from)?.[1] ?? 0;
    const last = inside.find(([x]) => x >= to)?.[1] ?? this.places.length - 1;
    return this.places.length ? [this.places[first].step, this.places[last].step] : [0, 0];
  }
}

// Where a point lies along `axis`, in the form that Plotly draws it.
export function at(place, axis) {
  return axis === "time" ? new Date(1000 * place.time) : place[axis];
}

/** The same as a number: steps, tokens, seconds, or milliseconds of the clock. */
export function coordinate(place, axis) {
  return axis === "time" ? 1000 * place.time : place[axis];
}

/** Metrics as an address names several. */
export const listed = (keys) => keys.map(encodeURIComponent).join(",");

function haveSameSteps(places, others) {
  if (places === others) return true;
  return places.length === others.length && places.every((place, i) => place.step === others[i].step);
}

function placesOf(answer) {
  return answer.steps.map((step, i) => ({
    step,
    tokens: answer.tokens[i],
    seconds: answer.seconds[i],
    time: answer.times[i],
    elapsed: answer.elapsed[i],
    attempt: answer.attempts[i],
    first: i ? answer.steps[i - 1] + 1 : answer.spans[0][0],
  }));
}

function pointsOf(places, band) {
  const points = [];
  band.mean.forEach((y, i) => {
    if (y === null) return;
    const extremes = band.low.length
      ? { low: band.low[i], high: band.high[i], lowAt: band.low_at[i], highAt: band.high_at[i] }
      : {};
    points.push({ ...places[i], y, ...extremes });
  });
  return points;
}
