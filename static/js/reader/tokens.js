// The tokens of a turn, coloured by a quantity of each. Drawn on demand, in a window around the selected one.

import { find, targetWithin } from "../core/dom.js";
import { html } from "../core/html.js";
import { visibleString } from "../core/visible_text.js";

/** @import { Shade, TokenChoice, Tokens, TrajectoryRecord, Turn } from "../types.js" */

const AT_ONCE = 1500;

/**
 * @typedef {object} Shading
 * @property {string} label
 * @property {(tokens: Tokens) => number[] | null} values
 * @property {(largest: number) => [low: string, high: string]} ends
 * @property {boolean} [signed]
 * @property {number} [largest]
 */

/** @typedef {{ shade: Shading, values: number[], largest: number, heat: (index: number) => number }} Scale */
/** @typedef {{ panel: HTMLElement, move: (by: number) => void, open: () => void }} TokenPanel */

/** @type {Record<Shade, Shading>} */
const SHADES = {
  advantage: {
    label: "Advantage",
    values: (tokens) => tokens.advantages,
    ends: (largest) => [`−${largest.toFixed(2)}: made less likely`, `+${largest.toFixed(2)}: made likelier`],
    signed: true,
  },
  entropy: {
    label: "Entropy",
    values: (tokens) => tokens.entropies,
    ends: (largest) => ["0: certain", `${largest.toFixed(2)} nats: undecided`],
  },
  probability: {
    label: "Probability",
    values: (tokens) => tokens.logprobs.map((value) => 1 - Math.exp(value)),
    ends: () => ["1: sure to come", "0: a surprise"],
    largest: 1,
  },
  mask: {
    label: "Mask",
    values: (tokens) => tokens.sampled.map((mark, index) => (isMasked(tokens, index) ? 0.2 : 0.6 * mark)),
    ends: () => ["given", "sampled, trained on; pale: masked"],
    largest: 1,
  },
};

/** @type {Partial<Record<Shade, string>>} */
const MISSING = {
  advantage: "No advantages were computed for this trajectory.",
  entropy: "The sampler of this trajectory does not report entropies.",
};

/**
 * The panel of one turn. `changed` is called with the shade and the token that the reader selects; `move(by)` selects
 * the token that many positions on.
 * @param {TrajectoryRecord} record
 * @param {Turn} turn
 * @param {TokenChoice & { changed: (choice: TokenChoice) => void }} tokenChoice
 * @returns {TokenPanel}
 */
export function tokenPanel(record, turn, { shade, token, changed }) {
  const host = html("div", "token-stream", { tabIndex: 0 });
  host.setAttribute("role", "group");
  host.setAttribute("aria-label", "Tokens; , and . pick the one before and the next");
  const legend = html("p", "muted token-legend");
  const facts = html("p", "token-facts mono");
  facts.setAttribute("role", "status");
  /** @type {TokenChoice} */
  const state = { shade: allowed(record, shade), token: within(turn, token) ? token : null };
  // a long prompt is skipped to where the response begins
  const first = turn.response_start - turn.prompt_start > AT_ONCE / 2 ? turn.response_start : turn.prompt_start;
  const buttons = shadeNames.map((name) => {
    const { label, values } = SHADES[name];
    const button = html("button", "button", { type: "button", textContent: label });
    button.dataset.shade = name;
    button.disabled = !values(record.tokens);
    if (button.disabled) button.title = MISSING[name] ?? "";
    button.addEventListener("click", () => paint(state.shade === name ? "" : name));
    return button;
  });

  /** @param {Shade | ""} name */
  function paint(name) {
    state.shade = name;
    for (const one of buttons) one.setAttribute("aria-pressed", String(one.dataset.shade === name));
    const scale = name ? scaleOf(record.tokens, SHADES[name]) : null;
    legend.replaceChildren(...(scale ? legendOf(scale) : []));
    host.replaceChildren();
    facts.textContent = "";
    if (scale) {
      drawAround(scale);
      pick(state.token);
      if (state.token === null && first > turn.prompt_start) scrollTo(first);
    }
    changed(state);
  }

  /**
   * A window of tokens around the picked one, or where the reading begins; the rest is a scroll or a click away.
   * @param {Scale} scale
   */
  function drawAround(scale) {
    const centre = state.token ?? first;
    const from = Math.max(turn.prompt_start, Math.min(centre - AT_ONCE / 2, turn.response_end - AT_ONCE));
    const to = Math.min(turn.response_end, from + AT_ONCE);
    host.replaceChildren(run(from, to, scale));
    grow(scale, from, -1);
    grow(scale, to, 1);
  }

  /**
   * @param {Scale} scale
   * @param {number} edge
   * @param {number} direction
   */
  function grow(scale, edge, direction) {
    const left = direction < 0 ? edge - turn.prompt_start : turn.response_end - edge;
    if (left <= 0) return;
    const words = direction < 0 ? `${left} earlier tokens` : `${left} more tokens`;
    const more = html("button", "button token-more", { type: "button", textContent: `Show ${words}` });
    const show = () => {
      watcher.disconnect();
      const next = edge + direction * Math.min(left, AT_ONCE);
      const height = host.scrollHeight;
      more.replaceWith(run(Math.min(edge, next), Math.max(edge, next), scale));
      if (direction < 0) host.scrollTop += host.scrollHeight - height;
      grow(scale, next, direction);
    };
    const watcher = new IntersectionObserver(
      ([entry]) => {
        if (direction > 0 && entry.isIntersecting) show();
      },
      { root: host },
    );
    more.addEventListener("click", show);
    host[direction < 0 ? "prepend" : "append"](more);
    watcher.observe(more);
  }

  /**
   * @param {number} from
   * @param {number} to
   * @param {Scale} scale
   */
  function run(from, to, scale) {
    const part = html("span", "token-run");
    for (let index = from; index < to; index += 1) part.append(...tokenSpan(record.tokens, index, scale));
    return part;
  }

  /**
   * @param {number | null} index
   * @param {{ scroll?: boolean }} [options]
   */
  function pick(index, { scroll = true } = {}) {
    state.token = index;
    host.querySelector("[data-picked]")?.removeAttribute("data-picked");
    if (index === null) return;
    if (!host.querySelector(`[data-token="${index}"]`) && state.shade) {
      drawAround(scaleOf(record.tokens, SHADES[state.shade]));
    }
    find(host, `[data-token="${index}"]`).dataset.picked = "";
    facts.textContent = [visibleString(record.tokens.text[index]), ...tokenFacts(record.tokens, index)].join("  ·  ");
    if (scroll) scrollTo(index);
  }

  /** @param {number} index */
  function scrollTo(index) {
    const span = find(host, `[data-token="${index}"]`);
    host.scrollTop += span.getBoundingClientRect().top - host.getBoundingClientRect().top - 120;
  }

  host.addEventListener("click", (event) => {
    const span = targetWithin(event, "[data-token]");
    if (!span) return;
    pick(Number(span.dataset.token), { scroll: false });
    changed(state);
  });
  const bar = html("div", "toolbar", {}, html("h3", "turn-part-title", { textContent: "Tokens by" }), ...buttons);
  const panel = html("section", "turn-part turn-tokens", {}, bar, legend, host, facts);
  const move = (/** @type {number} */ by) => {
    const next = (state.token ?? turn.response_start - 1) + by;
    if (!state.shade || !within(turn, next)) return;
    pick(next);
    changed(state);
  };
  // the scroll position is known only when it is on the page
  return { panel, move, open: () => paint(state.shade) };
}

const shadeNames = /** @type {Shade[]} */ (Object.keys(SHADES));

/**
 * @param {Turn} turn
 * @param {number | null} token
 */
const within = (turn, token) => token !== null && token >= turn.prompt_start && token < turn.response_end;
/**
 * @param {TrajectoryRecord} record
 * @param {Shade | ""} shade
 */
const allowed = (record, shade) => (shade && SHADES[shade].values(record.tokens) ? shade : "");

/**
 * One scale for the whole trajectory, so that its turns can be compared.
 * @param {Tokens} tokens
 * @param {Shading} shade
 * @returns {Scale}
 */
function scaleOf(tokens, shade) {
  const values = shade.values(tokens) ?? [];
  let largest = shade.largest ?? 0;
  if (!largest) {
    for (let index = 0; index < values.length; index += 1) {
      if (tokens.sampled[index]) largest = Math.max(largest, Math.abs(values[index]));
    }
  }
  return { shade, values, largest, heat: (/** @type {number} */ index) => (largest ? values[index] / largest : 0) };
}

/** @param {Scale} scale */
function legendOf({ shade, largest }) {
  const [low, high] = shade.ends(largest);
  const bar = html("span", `token-scale${shade.signed ? " token-scale--signed" : ""}`);
  bar.setAttribute("aria-hidden", "true");
  const words = (/** @type {string} */ textContent) => html("span", "", { textContent });
  return [words(low), bar, words(high), words("· grey: given, not trained on")];
}

/**
 * @param {Tokens} tokens
 * @param {number} index
 * @param {Scale} scale
 */
function tokenSpan(tokens, index, scale) {
  const sampled = Boolean(tokens.sampled[index]);
  const span = html("span", `token ${sampled ? "token--sampled" : "token--given"}`, {
    textContent: visibleString(tokens.text[index]),
    title: tokenFacts(tokens, index).join("\n"),
  });
  span.dataset.token = String(index);
  span.classList.toggle("token--masked", isMasked(tokens, index));
  if (sampled) {
    const value = scale.heat(index);
    span.classList.add(value < 0 ? "token--against" : "token--for");
    span.style.setProperty("--heat", Math.min(Math.abs(value), 1).toFixed(2));
  }
  return tokens.text[index].endsWith("\n") ? [span, document.createElement("br")] : [span];
}

/**
 * Whether a sampled token is not trained on.
 * @param {Tokens} tokens
 * @param {number} index
 */
const isMasked = (tokens, index) => tokens.masked.some(([start, end]) => start <= index && index < end);

/**
 * How many of the tokens from `start` to `end` are masked.
 * @param {Tokens} tokens
 * @param {number} start
 * @param {number} end
 */
export const maskedIn = (tokens, start, end) =>
  tokens.masked.reduce((sum, [from, to]) => sum + Math.max(0, Math.min(to, end) - Math.max(from, start)), 0);

/**
 * @param {Tokens} tokens
 * @param {number} index
 */
function tokenFacts(tokens, index) {
  const facts = [`token ${index}, id ${tokens.ids[index]}`];
  if (!tokens.sampled[index]) return [`${facts[0]}: given, not trained on`];
  if (isMasked(tokens, index)) facts[0] += ": masked, sampled but not trained on";
  facts.push(`probability ${Math.exp(tokens.logprobs[index]).toFixed(4)} (log ${tokens.logprobs[index].toFixed(3)})`);
  if (tokens.entropies) facts.push(`entropy ${tokens.entropies[index].toFixed(3)}`);
  if (tokens.advantages) facts.push(`advantage ${tokens.advantages[index].toFixed(3)}`);
  return facts;
}
