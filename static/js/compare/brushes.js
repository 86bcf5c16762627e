// Selecting runs on parallel coordinates: a drag along an axis selects the values it passes, and the runs with them. The
// selection is kept in the address by those values, so that it is the same once there are more runs.

import { readable } from "./view_state.js";

/** @typedef {{ key: string, label: string, values: string[], positions: number[] }} BrushAxis `values` and `positions` have one for each run */
/** @typedef {{ key: string, from: string, to: string }} Brush the first and the last value of what is selected */

const NAME = "brush"; // of the parameter, once for each axis
const REACH = 1e-6; // beyond the values at both ends

/**
 * @param {string} address
 * @returns {Brush[]}
 */
export function brushesOf(address) {
  return new URL(address).searchParams.getAll(NAME).flatMap((text) => {
    const [key, from, to] = text.split("~");
    return to === undefined ? [] : [{ key, from, to }];
  });
}

/** @param {Brush[]} brushes */
export function rememberBrushes(brushes) {
  const address = new URL(location.href);
  address.searchParams.delete(NAME);
  brushes.forEach(({ key, from, to }) => address.searchParams.append(NAME, [key, from, to].join("~")));
  history.replaceState(null, "", readable(address));
}

/**
 * The values between two positions of an axis, as a brush; null if there are none.
 * @param {BrushAxis} axis
 * @param {number} one
 * @param {number} other
 * @returns {Brush | null}
 */
export function brushBetween({ key, values, positions }, one, other) {
  const [low, high] = [Math.min(one, other), Math.max(one, other)];
  const inside = values.map((_, i) => i).filter((i) => positions[i] >= low && positions[i] <= high);
  if (!inside.length) return null;
  inside.sort((i, j) => positions[i] - positions[j]);
  return { key, from: shared(values[inside[0]]), to: shared(values[inside[inside.length - 1]]) };
}

/** @param {string} value as an address has it */
const shared = (value) => value.replaceAll("~", " ").slice(0, 60);

/**
 * Both ends of a brush on its axis; null if no run has its values any more.
 * @param {Brush} brush
 * @param {BrushAxis} axis
 */
export function endsOf({ from, to }, { values, positions }) {
  const texts = values.map(shared);
  const [low, high] = [positions[texts.indexOf(from)], positions[texts.indexOf(to)]];
  if (low === undefined || high === undefined) return null;
  return [Math.min(low, high), Math.max(low, high)];
}

/**
 * Whether each run is on every brush.
 * @param {Brush[]} brushes
 * @param {BrushAxis[]} axes
 * @param {number} count of runs
 */
export function selectedBy(brushes, axes, count) {
  const ranges = brushes.flatMap((brush) => {
    const axis = axes.find(({ key }) => key === brush.key);
    const ends = axis && endsOf(brush, axis);
    return axis && ends ? [{ axis, ends }] : [];
  });
  return Array.from({ length: count }, (_, run) =>
    ranges.every(
      ({ axis, ends: [low, high] }) => axis.positions[run] >= low - REACH && axis.positions[run] <= high + REACH,
    ),
  );
}
