// Reasoning templates: the clusters of nearly equal thoughts, how often each came over steps, and where it was used.

import { element, findAll, svg } from "../core/dom.js";
import { getJson } from "../core/requests.js";
import { percent } from "../core/format.js";
import { SmallChart } from "../charts/small_chart.js";
import { showText } from "../core/visible_text.js";
import { whyNoTemplates } from "./empty_state.js";

/**
 * @import {
 *   Facts,
 *   HistoryStore,
 *   RunState,
 *   StepRow,
 *   StepTemplates,
 *   Template,
 *   TemplateCounts,
 *   TemplateUse,
 *   Window,
 * } from "../types.js"
 */

const LINES = 6; // clusters that have a line of their own
const MOST_STEPS = 240; // whose counts are requested; of longer runs, evenly taken
const AT_ONCE = 60;
const PROMPTS_SHOWN = 12;
const SHARE = "collapse/template_share";

export class TemplatesPanel {
  /** @type {Map<number, TemplateCounts>} */
  counts = new Map();
  /** @type {string[]} */
  leaders = [];
  /** @type {string} */
  wanted = "";

  /**
   * How often templates came is in the picture, what they are in the rest.
   * @param {{ picture: HTMLElement, rest: HTMLElement, height: number }} parts
   * @param {DOMStringMap} addresses
   * @param {Facts} facts
   * @param {(step: number) => void} onStep
   */
  constructor({ picture, rest, height }, addresses, facts, onStep) {
    this.rest = rest;
    this.addresses = addresses;
    this.facts = facts;
    this.summary = element("p", { class: "muted" });
    const title = "Reasoning templates, share of all thoughts";
    this.chart = new SmallChart({ title, low: 0, show: percent, onStep, height });
    this.list = element("ol", { class: "templates" });
    picture.append(this.chart.panel, this.summary);
    rest.append(this.list);
    this.shown = ""; // step and seq of the list on the page
  }

  /**
   * @param {Pick<HistoryStore, "steps" | "last">} store
   * @param {RunState} state
   * @param {Window} domain
   * @param {number | null} mark
   */
  async draw(store, state, domain, mark) {
    const steps = store.steps.filter(({ metrics }) => metrics[SHARE] !== undefined);
    this.rest.hidden = this.summary.hidden = !steps.length;
    if (!steps.length) {
      this.chart.draw({ series: [], domain, mark, whyEmpty: whyNoTemplates(this.facts, state, store).text });
      return;
    }
    await this.fetchCounts(thinned(steps, MOST_STEPS));
    const known = steps.flatMap(({ step, seq }) => {
      const counted = this.counts.get(step);
      return counted?.seq === seq ? [counted] : [];
    });
    this.leaders = leadersOf(known);
    const series = this.leaders.map((key, index) => ({
      name: `template ${index + 1}`,
      kind: `line-${index + 1}`,
      points: known.map(({ step, counts, thoughts }) => ({
        step,
        y: thoughts ? (counts[key]?.[0] ?? 0) / thoughts : 0,
      })),
    }));
    this.chart.draw({
      series,
      domain,
      mark,
      whyEmpty: "No thought was nearly repeated on another prompt at any step.",
    });
    const now = steps.findLast(({ step }) => step <= (mark ?? Infinity)) ?? steps[0];
    await this.showStep(now);
  }

  /** @param {StepRow[]} steps */
  async fetchCounts(steps) {
    const missing = steps.filter(({ step, seq }) => this.counts.get(step)?.seq !== seq);
    for (let from = 0; from < missing.length; from += AT_ONCE) {
      const part = missing.slice(from, from + AT_ONCE);
      const query = part.map(({ step }) => step).join(",");
      /** @type {{ steps: TemplateCounts[] } | null} */
      const answer = await getJson(`${this.addresses.templates}?steps=${query}`);
      if (!answer) return;
      for (const { step, seq } of part) {
        const counted = answer.steps.find((one) => one.step === step);
        if (counted) this.counts.set(step, { ...counted, seq });
      }
    }
  }

  /** @param {StepRow} stepRow */
  async showStep({ step, seq, metrics }) {
    const wanted = `${step}/${seq}/${this.leaders.join()}`;
    this.wanted = wanted;
    if (this.shown === wanted) return;
    /** @type {StepTemplates | null} */
    const found = await getJson(`${this.addresses.templates}?step=${step}`);
    if (!found || this.wanted !== wanted) return; // another step was selected meanwhile
    this.shown = wanted;
    const count = found.templates.length;
    this.summary.textContent =
      found.step === null
        ? `The templates of step ${step} are not available: its file is missing or damaged. ${percent(metrics[SHARE])} of thoughts were templates.`
        : count
          ? `Step ${step}: ${percent(metrics[SHARE])} of ${found.thoughts} thoughts nearly repeat one on a different prompt, in ${count} ${count === 1 ? "cluster" : "clusters"}. Some of them may be right: two problems can call for the same words.`
          : `Step ${step}: of ${found.thoughts} thoughts none nearly repeats one on a different prompt.`;
    const open = new Set(findAll(this.list, "details[open]").map((one) => one.dataset.key));
    this.list.replaceChildren(...found.templates.map((one) => this.row(one, found, open.has(one.key))));
  }

  /**
   * @param {Template} one
   * @param {StepTemplates} found
   * @param {boolean} open
   */
  row(one, found, open) {
    const rank = this.leaders.indexOf(one.key) + 1; // 0 for one without a line of its own
    const swatch = svg(
      "svg",
      { viewBox: "0 0 12 12", class: "swatch", "aria-hidden": "true" },
      svg("rect", { class: rank ? `fill-${rank}` : "fill-none", width: 12, height: 12, rx: 3 }),
    );
    const text = element("pre", { class: "template-text" });
    showText(text, one.text || "(empty)");
    const shown = one.used_on.slice(0, PROMPTS_SHOWN);
    const rest = one.prompts - shown.length;
    const details = element(
      "details",
      { class: "template-prompts", "data-key": one.key, open },
      element(
        "summary",
        {},
        shown.length
          ? `Where it was used: ${one.prompts} prompts`
          : `Used on ${one.prompts} prompts, recorded before prompts were kept`,
      ),
      element("div", { class: "template-states" }, ...shown.map((use) => this.prompt(use, found))),
      rest > 0 && shown.length ? element("p", { class: "muted" }, `and ${rest} more`) : null,
    );
    return element(
      "li",
      {},
      element(
        "p",
        { class: "template-head" },
        swatch,
        element("strong", {}, rank ? `Template ${rank}` : "Template"),
        element("span", { class: "num" }, `${one.count} of ${found.thoughts} thoughts`),
        element(
          "span",
          { class: "muted" },
          `${one.prompts} prompts · ${one.wordings} ${one.wordings === 1 ? "wording" : "wordings"}`,
        ),
        this.exampleOf(one, found),
      ),
      text,
      details,
    );
  }

  /**
   * @param {Template} template
   * @param {StepTemplates} stepTemplates
   */
  exampleOf({ example }, { trajectories }) {
    return this.link(
      trajectories[`${example.group}-${example.member}`],
      example.turn,
      "read one",
      "no trajectory recorded",
    );
  }

  /**
   * @param {TemplateUse} use
   * @param {StepTemplates} stepTemplates
   */
  prompt(use, { prompts, trajectories }) {
    const prompt = prompts[use.prompt];
    if (!prompt) return null;
    const state = element("pre", {});
    showText(state, prompt.state || "(nothing shown)");
    const words = element("span", {});
    showText(words, `${prompt.environment} · seed ${prompt.seed}`);
    return element(
      "figure",
      {},
      state,
      element(
        "figcaption",
        {},
        words,
        element("span", { class: "num" }, `${use.count}×`),
        this.link(trajectories[`${prompt.group}-${use.member}`], prompt.turn, "read", "not recorded"),
      ),
    );
  }

  /**
   * @param {number | undefined} key
   * @param {number} turn
   * @param {string} word
   * @param {string} otherwise
   */
  link(key, turn, word, otherwise) {
    if (!key) return element("span", { class: "muted" }, otherwise);
    return element("a", { href: `${this.addresses.trajectories}${key}/?turn=${turn + 1}` }, word);
  }
}

/**
 * The clusters that hold most thoughts over all steps, the most first.
 * @param {TemplateCounts[]} steps
 */
function leadersOf(steps) {
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const { counts, thoughts } of steps) {
    for (const [key, [count]] of Object.entries(counts)) {
      sums.set(key, (sums.get(key) ?? 0) + count / Math.max(1, thoughts));
    }
  }
  return [...sums]
    .sort(([, one], [, other]) => other - one)
    .slice(0, LINES)
    .map(([key]) => key);
}

/**
 * @template T
 * @param {T[]} steps
 * @param {number} most
 */
export function thinned(steps, most) {
  const every = Math.max(1, Math.ceil(steps.length / most));
  return steps.filter((_, index) => (steps.length - 1 - index) % every === 0);
}
