// Reasoning templates: the clusters of nearly equal thoughts, how often each came over steps, and where it was used.

import { element, svg } from "../core/dom.js";
import { percent } from "../core/format.js";
import { SmallLines } from "../charts/small_chart.js";
import { showText } from "../core/visible_text.js";
import { whyNoTemplates } from "./empty_state.js";

const LINES = 6; // clusters that have a line of their own
const MOST_STEPS = 240; // whose counts are asked for; of longer runs every so manieth
const AT_ONCE = 60;
const PROMPTS_SHOWN = 12;
const NAMED = "collapse/template_share";

export class TemplatesPanel {
  constructor(root, addresses, facts, onStep) {
    Object.assign(this, { root, addresses, facts });
    this.counts = new Map(); // step -> {seq, thoughts, counts}
    this.said = element("p", { class: "muted" });
    this.chart = new SmallLines({ title: "Thoughts of each template, share of all", low: 0, show: percent, onStep });
    this.list = element("ol", { class: "templates" });
    root.append(this.said, this.chart.panel, this.list);
    this.shown = ""; // step and seq of the list on the page
  }

  async draw(store, state, domain, mark) {
    const steps = store.steps.filter(({ metrics }) => metrics[NAMED] !== undefined);
    this.chart.panel.hidden = this.list.hidden = !steps.length;
    if (!steps.length) {
      this.said.textContent = whyNoTemplates(this.facts, state, store).text;
      return;
    }
    await this.fetchCounts(thinned(steps, MOST_STEPS));
    const known = steps.filter(({ step, seq }) => this.counts.get(step)?.seq === seq);
    this.leaders = leadersOf(known.map(({ step }) => this.counts.get(step)));
    const series = this.leaders.map((key, place) => ({
      name: `template ${place + 1}`,
      kind: `line-${place + 1}`,
      points: known.map(({ step }) => {
        const { counts, thoughts } = this.counts.get(step);
        return { step, y: thoughts ? (counts[key]?.[0] ?? 0) / thoughts : 0 };
      }),
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

  async fetchCounts(steps) {
    const missing = steps.filter(({ step, seq }) => this.counts.get(step)?.seq !== seq);
    for (let from = 0; from < missing.length; from += AT_ONCE) {
      const part = missing.slice(from, from + AT_ONCE);
      const answer = await ask(`${this.addresses.templates}?steps=${part.map(({ step }) => step).join(",")}`);
      if (!answer) return;
      const told = new Map(answer.steps.map((one) => [one.step, one]));
      for (const { step, seq } of part) if (told.has(step)) this.counts.set(step, { ...told.get(step), seq });
    }
  }

  async showStep({ step, seq, metrics }) {
    const wanted = `${step}/${seq}/${this.leaders.join()}`;
    this.wanted = wanted;
    if (this.shown === wanted) return;
    const found = await ask(`${this.addresses.templates}?step=${step}`);
    if (!found || this.wanted !== wanted) return; // somebody has scrubbed on
    this.shown = wanted;
    const count = found.templates.length;
    this.said.textContent =
      found.step === null
        ? `The words of step ${step} are not to be had: its file is gone or damaged. ${percent(metrics[NAMED])} of thoughts were templates.`
        : count
          ? `Step ${step}: ${percent(metrics[NAMED])} of ${found.thoughts} thoughts nearly repeat one on a different prompt, in ${count} ${count === 1 ? "cluster" : "clusters"}. Some are right to: two problems may call for the same words.`
          : `Step ${step}: of ${found.thoughts} thoughts none nearly repeats one on a different prompt.`;
    const open = new Set([...this.list.querySelectorAll("details[open]")].map((one) => one.dataset.key));
    this.list.replaceChildren(...found.templates.map((one) => this.row(one, found, open.has(one.key))));
  }

  row(one, found, open) {
    const place = this.leaders.indexOf(one.key) + 1;
    const swatch = svg(
      "svg",
      { viewBox: "0 0 12 12", class: "swatch", "aria-hidden": "true" },
      svg("rect", { class: place ? `fill-${place}` : "fill-none", width: 12, height: 12, rx: 3 }),
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
          : `Used on ${one.prompts} prompts, recorded before they were kept`,
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
        element("strong", {}, place ? `Template ${place}` : "Template"),
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

  exampleOf({ example }, { trajectories }) {
    return this.link(
      trajectories[`${example.group}-${example.member}`],
      example.turn,
      "read one",
      "no trajectory recorded",
    );
  }

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

  link(key, turn, word, otherwise) {
    if (!key) return element("span", { class: "muted" }, otherwise);
    return element("a", { href: `${this.addresses.trajectories}${key}/?turn=${turn + 1}` }, word);
  }
}

// The clusters that hold most thoughts over all steps, the most first.
function leadersOf(steps) {
  const sums = new Map();
  for (const { counts, thoughts } of steps)
    for (const [key, [count]] of Object.entries(counts))
      sums.set(key, (sums.get(key) ?? 0) + count / Math.max(1, thoughts));
  return [...sums]
    .sort(([, one], [, other]) => other - one)
    .slice(0, LINES)
    .map(([key]) => key);
}

export function thinned(steps, most) {
  const every = Math.max(1, Math.ceil(steps.length / most));
  return steps.filter((_, index) => (steps.length - 1 - index) % every === 0);
}

export async function ask(address) {
  const answer = await fetch(address, { headers: { Accept: "application/json" } }).catch(() => null);
  return answer?.ok && !answer.redirected ? answer.json() : null;
}
