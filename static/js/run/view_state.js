// How the reader looks at the run: axis, smoothing, the step and the window that all charts share, the tab. It lives in the address,
// so that a link shows the same, and news never changes it. Going back changes the tab alone.

const AXES = ["step", "tokens", "seconds", "elapsed", "time"];
const SMOOTHING = 0.6;

export class RunView {
  constructor(address) {
    const asked = new URL(address);
    const { searchParams } = asked;
    this.axis = AXES.includes(searchParams.get("x")) ? searchParams.get("x") : AXES[0];
    this.smoothing = share(searchParams.get("smoothing"), SMOOTHING);
    this.outliers = searchParams.get("outliers") === "out"; // left out
    this.step = whole(searchParams.get("step")); // that the reader has chosen; null follows the newest
    this.window = pair(searchParams.get("zoom")); // [from, to] along the axis; of the clock in milliseconds
    this.scales = new Map([...charts(searchParams, "log", true), ...charts(searchParams, "linear", false)]);
    this.tab = asked.hash.slice(1);
    this.revision = 0; // of the reader's resets
    this.zooms = 0;
    this.theme = 0;
    this.changed = false; // since the page was opened
  }

  look(changes) {
    if (changes.axis && changes.axis !== this.axis) this.zoom(null);
    Object.assign(this, changes);
    this.remember();
  }

  // What a chart says of its axis: numbers, or local times as text.
  zoom(range) {
    const value = (end) => (typeof end === "string" ? Date.parse(end.replace(" ", "T")) : Number(end));
    this.window = range && range.map(value);
    this.zooms += 1;
    this.remember();
  }

  // A chart's axis, by the chart's metrics with + between: whether it is logarithmic, kept where that is unusual.
  turnLog(chart, on, usual) {
    if (on === Boolean(usual)) this.scales.delete(chart);
    else this.scales.set(chart, on);
    this.remember();
  }

  reset() {
    this.revision += 1;
    this.zoom(null);
  }

  /** The window as Plotly takes it. */
  range() {
    return this.axis === "time" ? this.window.map((end) => new Date(end)) : [...this.window];
  }

  /** An address of before, gone back to, says what the reader looks at now. */
  keep() {
    if (this.changed) this.remember();
  }

  remember() {
    this.changed = true;
    const next = new URL(location.href);
    next.searchParams.set("x", this.axis);
    next.searchParams.set("smoothing", this.smoothing);
    set(next, "outliers", this.outliers ? "out" : null);
    set(next, "step", this.step === null ? null : String(this.step));
    set(next, "log", listed(this.scales, true));
    set(next, "linear", listed(this.scales, false));
    set(next, "zoom", this.window?.map((end) => Number(end.toPrecision(14))).join(".."));
    history.replaceState(null, "", next);
  }
}

function set(address, name, value) {
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
}

const charts = (asked, name, on) => (asked.get(name) ?? "").split(",").filter(Boolean).map((chart) => [decoded(chart), on]);

const listed = (scales, on) =>
  [...scales].flatMap(([chart, log]) => (log === on ? [encodeURIComponent(chart).replaceAll("%2F", "/")] : [])).join(",");

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // somebody's typing
  }
}

function share(text, otherwise) {
  return text !== null && Number(text) >= 0 && Number(text) < 1 ? Number(text) : otherwise;
}

const whole = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);

function pair(text) {
  const ends = (text ?? "").split("..").map(Number);
  return text && ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] ? ends : null;
}
