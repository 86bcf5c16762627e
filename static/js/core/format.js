// Numbers, times and durations, as every page writes them.

import { findAll } from "./dom.js";

const WHOLE = new Intl.NumberFormat("en"); // made once: `toLocaleString` makes one for each number

/** @param {number | null | undefined} value */
export function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(2);
  if (Number.isInteger(value)) return size < 1000 ? String(value) : WHOLE.format(value);
  return value.toFixed(size >= 100 ? 1 : size >= 10 ? Math.min(2, digits) : digits);
}

/** @param {number | null | undefined} value */
export function percent(value) {
  return value === null || value === undefined ? "–" : `${(100 * value).toFixed(1)}%`;
}

/** @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes} min ${whole % 60} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** @param {number} unix */
export function ago(unix, now = Date.now() / 1000) {
  const passed = Math.max(0, now - unix);
  if (passed < 5) return "now";
  if (passed < 60) return `${Math.floor(passed)} s ago`;
  if (passed < 3600) return `${Math.floor(passed / 60)} min ago`;
  if (passed < 86400) return `${Math.floor(passed / 3600)} h ago`;
  return `${Math.floor(passed / 86400)} d ago`;
}

/** @param {number} count */
export function bytes(count) {
  if (count < 1e3) return `${count} B`;
  if (count < 1e6) return `${(count / 1e3).toFixed(1)} kB`;
  return `${(count / 1e6).toFixed(1)} MB`;
}

/**
 * every <time data-ago="unix">
 * @param {ParentNode} [root]
 */
export function refreshTimes(root = document) {
  for (const time of findAll(root, "time[data-ago]")) time.textContent = ago(Number(time.dataset.ago));
}

export function keepTimesFresh() {
  refreshTimes();
  setInterval(() => refreshTimes(), 10000);
}
