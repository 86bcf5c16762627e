// The view of a run: axis, smoothing, the step and the window that all charts share, the tab. It is kept in
// the address, so that a link shows the same, and updates never change it. Back changes the tab alone.

/** @import { Axis, Window } from "../types.js" */

/** @type {Axis[]} */
const AXES = ["step", "lineage", "tokens", "seconds", "elapsed", "time"];
const SMOOTHING = 0.6;

export class RunView {
  revision = 0; // how often the reader has reset the window
  zooms = 0;
  stretched = false; // the vertical axis of a chart was zoomed
  theme = 0;
  changed = false; // since the page was opened

  /** @param {string} address */
  constructor(address) {
    const url = new URL(address);
    const { searchParams } = url;
    /** @type {Axis} */
    this.axis = AXES.find((axis) => axis === searchParams.get("x")) ?? AXES[0];
    this.smoothing = share(searchParams.get("smoothing"), SMOOTHING);
    this.outliers = searchParams.get("outliers") === "out"; // left out
    /** @type {number | null} */
    this.step = whole(searchParams.get("step")); // that the reader has chosen; null follows the newest
    /** @type {Window | null} */
    this.window = pair(searchParams.get("zoom")); // along the axis; of the clock in milliseconds
    this.scales = new Map([...charts(searchParams, "log", true), ...charts(searchParams, "linear", false)]);
    this.tab = url.hash.slice(1);
  }

  /** @param {Partial<Omit<RunView, "look">>} changes */
  look(changes) {
    if (changes.axis && changes.axis !== this.axis) this.zoom(null);
    Object.assign(this, changes);
    this.remember();
  }

  /**
   * Zooms to what a chart reports of its axis: numbers, or local times as text.
   * @param {(number | string)[] | null} range
   */
  zoom(range) {
    /** @param {number | string} end */
    const value = (end) => (typeof end === "string" ? Date.parse(end.replace(" ", "T")) : Number(end));
    this.window = range ? [value(range[0]), value(range[1])] : null;
    this.zooms += 1;
    this.remember();
  }

  /**
   * Sets whether a chart's axis is logarithmic, kept where that is not its metrics' own.
   * @param {string} chart its metrics with + between
   * @param {boolean} on
   * @param {boolean} [usual]
   */
  turnLog(chart, on, usual) {
    if (on === Boolean(usual)) this.scales.delete(chart);
    else this.scales.set(chart, on);
    this.remember();
  }

  reset() {
    this.revision += 1;
    this.stretched = false;
    this.zoom(null);
  }

  /** The window as Plotly takes it. */
  range() {
    const ends = this.window ?? [];
    return this.axis === "time" ? ends.map((end) => new Date(end)) : [...ends];
  }

  /** Writes the present state into an address of before that Back or Forward went to. */
  keep() {
    if (this.changed) this.remember();
  }

  remember() {
    this.changed = true;
    const next = new URL(location.href);
    next.searchParams.set("x", this.axis);
    next.searchParams.set("smoothing", String(this.smoothing));
    setQuery(next, "outliers", this.outliers ? "out" : "");
    setQuery(next, "step", this.step === null ? "" : String(this.step));
    setQuery(next, "log", listed(this.scales, true));
    setQuery(next, "linear", listed(this.scales, false));
    setQuery(next, "zoom", this.window?.map((end) => Number(end.toPrecision(14))).join(".."));
    history.replaceState(null, "", next);
  }
}

/**
 * Sets a parameter of an address, or takes it out where there is no value.
 * @param {URL} address
 * @param {string} name
 * @param {string | undefined} value
 */
export function setQuery(address, name, value) {
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
}

/**
 * @param {URLSearchParams} searchParams
 * @param {string} name
 * @param {boolean} on
 * @returns {[chart: string, log: boolean][]}
 */
const charts = (searchParams, name, on) =>
  (searchParams.get(name) ?? "")
    .split(",")
    .filter(Boolean)
    .map((chart) => [decoded(chart), on]);

/**
 * @param {Map<string, boolean>} scales
 * @param {boolean} on
 */
const listed = (scales, on) =>
  [...scales]
    .flatMap(([chart, log]) => (log === on ? [encodeURIComponent(chart).replaceAll("%2F", "/")] : []))
    .join(",");

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // edited manually
  }
}

/**
 * @param {string | null} text
 * @param {number} otherwise
 */
function share(text, otherwise) {
  return text !== null && Number(text) >= 0 && Number(text) < 1 ? Number(text) : otherwise;
}

/** @param {string | null} text */
const whole = (text) => (/^\d{1,9}$/.test(text ?? "") ? Number(text) : null);

/**
 * @param {string | null} text
 * @returns {Window | null}
 */
function pair(text) {
  const ends = (text ?? "").split("..").map(Number);
  return text && ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] ? [ends[0], ends[1]] : null;
}
