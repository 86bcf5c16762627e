// How the reader looks at the run: axis, smoothing, the window that all charts share, the tab. It lives in the address,
// so that a link shows the same, and news never changes it.

const AXES = ["step", "tokens", "seconds", "elapsed", "time"];
const SMOOTHING = 0.6;

export class RunView {
  constructor(address) {
    const asked = new URL(address);
    const { searchParams } = asked;
    this.axis = AXES.includes(searchParams.get("x")) ? searchParams.get("x") : AXES[0];
    this.smoothing = share(searchParams.get("smoothing"), SMOOTHING);
    this.outliers = searchParams.get("outliers") === "out"; // left out
    this.window = pair(searchParams.get("zoom")); // [from, to] along the axis; of the clock in milliseconds
    this.tab = asked.hash.slice(1);
    this.revision = 0; // of the reader's resets
    this.zooms = 0;
    this.theme = 0;
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

  reset() {
    this.revision += 1;
    this.zoom(null);
  }

  /** The window as Plotly takes it. */
  range() {
    return this.axis === "time" ? this.window.map((end) => new Date(end)) : this.window;
  }

  remember() {
    const next = new URL(location.href);
    next.searchParams.set("x", this.axis);
    next.searchParams.set("smoothing", this.smoothing);
    set(next, "outliers", this.outliers ? "out" : null);
    set(next, "zoom", this.window?.map((end) => Number(end.toPrecision(14))).join(".."));
    history.replaceState(null, "", next);
  }
}

function set(address, name, value) {
  if (value) address.searchParams.set(name, value);
  else address.searchParams.delete(name);
}

function share(text, otherwise) {
  return text !== null && Number(text) >= 0 && Number(text) < 1 ? Number(text) : otherwise;
}

function pair(text) {
  const ends = (text ?? "").split("..").map(Number);
  return text && ends.length === 2 && ends.every(Number.isFinite) && ends[0] < ends[1] ? ends : null;
}
