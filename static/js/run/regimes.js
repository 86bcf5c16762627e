// Readings of the collapse diagnostics, each with its regime. Regimes and their borders are the server's: this compares
// nothing with a number.

import { jsonOf } from "../core/dom.js";
import { percent } from "../core/format.js";
import { getJson } from "../core/requests.js";

/** @import { RegimeColumns, RegimeText, StepRow } from "../types.js" */

/**
 * @typedef {object} Reading
 * @property {number} step
 * @property {number} h
 * @property {number} mi
 * @property {string} regime
 * @property {boolean} broken whether fewer turns have a thought than at the start
 * @property {number} nats
 * @property {number} ceiling
 * @property {number} valid
 * @property {number} samples
 * @property {number} prompts
 * @property {number} retrieval
 * @property {number} chance
 */

/** @type {Record<string, string>} */
const ENTROPY = { thought: "collapse/conditional_entropy", token: "collapse/conditional_entropy_token" };

/**
 * Title and description of each regime, from the page.
 * @returns {Record<string, RegimeText>}
 */
export function regimeTexts() {
  return jsonOf("regimes");
}

/** The regimes of a run, requested again only when there is a newer reading. */
export class RegimesOfRun {
  /** @param {string} run */
  constructor(run) {
    this.address = `/api/v1/runs/${run}/regimes`;
    /** @type {Map<string, {mark: string, found: RegimeColumns}>} */
    this.known = new Map();
  }

  /**
   * Null when they cannot be had now and never were. `mark` changes with every new reading.
   * @param {string} per thought or token
   * @param {string} mark
   * @returns {Promise<RegimeColumns | null>}
   */
  async find(per, mark) {
    const known = this.known.get(per);
    if (known?.mark === mark) return known.found;
    const found = await getJson(`${this.address}?per=${per}`);
    if (found) this.known.set(per, { mark, found });
    return found ?? known?.found ?? null;
  }
}

/**
 * The steps with diagnostics whose regime is known, in order.
 * @param {StepRow[]} steps
 * @param {string} per thought or token
 * @param {RegimeColumns} map
 * @returns {Reading[]}
 */
export function readings(steps, per, map) {
  const indices = new Map(map.steps.map((step, index) => [step, index]));
  return steps.flatMap(({ step, metrics }) => {
    const index = indices.get(step);
    const [h, mi] = [metrics[ENTROPY[per]], metrics["collapse/mi_ratio"]];
    if (index === undefined || h === undefined || mi === undefined) return [];
    return [
      {
        step,
        h,
        mi,
        regime: map.regimes[index],
        broken: map.format_broken[index],
        nats: metrics["collapse/mi_sequence"],
        ceiling: metrics["collapse/mi_ceiling"],
        valid: metrics["collapse/valid_thought_rate"],
        samples: metrics["collapse/samples"],
        prompts: metrics["collapse/prompts"],
        retrieval: metrics["collapse/retrieval_above_chance"],
        chance: metrics["collapse/retrieval_chance"],
      },
    ];
  });
}

/**
 * Where the run is at `now`, since when, and what it was in before.
 * @param {Reading[]} found
 * @param {Reading} now one of them
 * @param {Record<string, RegimeText>} texts
 */
export function describeRegime(found, now, texts) {
  const index = found.indexOf(now);
  const before = found.slice(0, index).findLast((one) => one.regime !== now.regime);
  const since = before ? found[found.indexOf(before) + 1].step : found[0].step;
  const { title, description } = texts[now.regime];
  const long = since === now.step ? `at step ${now.step}` : `since step ${since}`;
  const after = before ? `, after ${texts[before.regime].title.toLowerCase()}` : "";
  const broken = now.broken ? ` The format is breaking: ${percent(now.valid)} of turns have a thought.` : "";
  return `${title} ${long}${after}: ${description}.${broken}`;
}
