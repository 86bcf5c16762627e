// The lines of a comparison: one for each run, or for each group of runs, whose mean the server computes.

/** @import { CompareView } from "./view_state.js" */
/** @import { ComparedRun } from "./compared_runs.js" */

/**
 * @typedef {object} Group as the page was written with it
 * @property {string} name
 * @property {number[]} members indices of runs
 * @property {number} colour
 * @property {number} dash
 */

/**
 * @typedef {object} Line of a comparison
 * @property {string} id
 * @property {string} name
 * @property {string} of description of the runs in the group
 * @property {number} colour
 * @property {number} dash
 * @property {ComparedRun[]} members
 * @property {ComparedRun[]} shown members that are not hidden
 * @property {boolean} isMean
 */

/** @type {string[]} */
const ONE_BY_ONE = ["time", "lineage"]; // axes on which runs of a group have no common position

/**
 * Whether groups are drawn as their means.
 * @param {CompareView} view
 */
export const areGrouped = (view) => !ONE_BY_ONE.includes(view.axis);

/**
 * @param {ComparedRun[]} runs
 * @param {Group[]} groups
 * @param {CompareView} view
 * @returns {Line[]}
 */
export function linesOf(runs, groups, view) {
  if (!areGrouped(view)) return runs.map((run) => lineOfRun(run, view));
  const grouped = new Set(groups.flatMap(({ members }) => (members.length > 1 ? members : [])));
  const means = groups.flatMap((group, index) =>
    group.members.length > 1 ? [lineOfGroup(group, index, runs, view)] : [],
  );
  const others = runs.flatMap((run, index) => {
    if (grouped.has(index)) return [];
    const alone = groups.find(({ members }) => members.length === 1 && members[0] === index);
    const { colour, dash } = alone ?? run;
    return [{ ...lineOfRun(run, view), ...(alone ? { colour, dash, name: `${alone.name} (n = 1)` } : {}) }];
  });
  return [...means, ...others];
}

/**
 * @param {ComparedRun} run
 * @param {CompareView} view
 * @returns {Line}
 */
function lineOfRun(run, view) {
  const shown = view.hidden.includes(run.id) ? [] : [run];
  const { id, name, colour, dash } = run;
  return { id, name, of: wordsOf(run), colour, dash, members: [run], shown, isMean: false };
}

/**
 * @param {Group} group
 * @param {number} index
 * @param {ComparedRun[]} runs
 * @param {CompareView} view
 * @returns {Line}
 */
function lineOfGroup({ name, members, colour, dash }, index, runs, view) {
  const all = members.map((one) => runs[one]);
  const shown = all.filter((run) => !view.hidden.includes(run.id));
  const of = all.map(wordsOf).join("\n");
  return {
    id: `group ${index}`,
    name: `${name} (n = ${shown.length})`,
    of,
    colour,
    dash,
    members: all,
    shown,
    isMean: true,
  };
}

/** @param {ComparedRun} run */
const wordsOf = ({ name, seed }) => (seed === null ? name : `${name}, seed ${seed}`);
