// The tokens of a turn, coloured by what was computed for each. Drawn only when asked for, and around where one reads.

import { html } from "../core/html.js";
import { visibleString } from "../core/visible_text.js";

const AT_ONCE = 1500;
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
    values: (tokens) => tokens.sampled.map((mark) => 0.6 * mark),
    ends: () => ["given", "sampled, trained on"],
    largest: 1,
  },
};

const LACKING = {
  advantage: "No advantages were computed for this trajectory.",
  entropy: "The sampler of this trajectory does not tell entropies.",
};

/**
 * The panel of one turn. `shade` is the colour to begin with, `token` the one that is picked, or null; `changed` hears
 * of both. It has `move(by)`, which picks the token that many places on.
 */
export function tokenPanel(record, turn, { shade, token, changed }) {
  const host = html("div", "token-stream", { tabIndex: 0 });
  host.setAttribute("role", "group");
  host.setAttribute("aria-label", "Tokens; , and . pick the one before and the next");
  const legend = html("p", "muted token-legend");
  const facts = html("p", "token-facts mono");
  facts.setAttribute("role", "status");
  const state = { shade: allowed(record, shade), token: within(turn, token) ? token : null };
  // a long prompt is skipped to where the response begins
  const first = turn.response_start - turn.prompt_start > AT_ONCE / 2 ? turn.response_start : turn.prompt_start;
  const buttons = Object.entries(SHADES).map(([name, { label, values }]) => {
    const button = html("button", "button", { type: "button", textContent: label });
    button.dataset.shade = name;
    button.disabled = !values(record.tokens);
    if (button.disabled) button.title = LACKING[name];
    button.addEventListener("click", () => paint(state.shade === name ? "" : name));
    return button;
  });

  function paint(name) {
    state.shade = name;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.shade === name));
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

  /** A window of tokens around the picked one, or where the reading begins; the rest is a scroll or a click away. */
  function drawAround(scale) {
    const centre = state.token ?? first;
    const from = Math.max(turn.prompt_start, Math.min(centre - AT_ONCE / 2, turn.response_end - AT_ONCE));
    const to = Math.min(turn.response_end, from + AT_ONCE);
    host.replaceChildren(run(from, to, scale));
    grow(scale, from, -1);
    grow(scale, to, 1);
  }

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
    const seen = ([entry]) => direction > 0 && entry.isIntersecting && show();
    const watcher = new IntersectionObserver(seen, { root: host });
    more.addEventListener("click", show);
    host[direction < 0 ? "prepend" : "append"](more);
    watcher.observe(more);
  }

  function run(from, to, scale) {
    const part = html("span", "token-run");
    for (let index = from; index < to; index += 1) part.append(...tokenSpan(record.tokens, index, scale));
    return part;
  }

  function pick(index, { scroll = true } = {}) {
    state.token = index;
    host.querySelector("[data-picked]")?.removeAttribute("data-picked");
    if (index === null) return;
    if (!host.querySelector(`[data-token="${index}"]`)) drawAround(scaleOf(record.tokens, SHADES[state.shade]));
    const span = host.querySelector(`[data-token="${index}"]`);
    span.dataset.picked = "";
    const told = [visibleString(record.tokens.text[index]), ...tokenFacts(record.tokens, index)];
    facts.textContent = told.join("  ·  ");
    if (scroll) scrollTo(index);
  }

  function scrollTo(index) {
    const span = host.querySelector(`[data-token="${index}"]`);
    host.scrollTop += span.getBoundingClientRect().top - host.getBoundingClientRect().top - 120;
  }

  host.addEventListener("click", (event) => {
    const span = event.target.closest("[data-token]");
    if (!span) return;
    pick(Number(span.dataset.token), { scroll: false });
    changed(state);
  });
  const bar = html("div", "toolbar", {}, html("h3", "turn-part-title", { textContent: "Tokens by" }), ...buttons);
  const panel = html("section", "turn-part turn-tokens", {}, bar, legend, host, facts);
  panel.move = (by) => {
    const next = (state.token ?? turn.response_start - 1) + by;
    if (!state.shade || !within(turn, next)) return;
    pick(next);
    changed(state);
  };
  // where it scrolls to is known only when it is on the page
  panel.open = () => paint(state.shade);
  return panel;
}

const within = (turn, token) => token !== null && token >= turn.prompt_start && token < turn.response_end;
const allowed = (record, shade) => (shade && SHADES[shade].values(record.tokens) ? shade : "");

/** One scale for the whole trajectory, so that its turns can be compared. */
function scaleOf(tokens, shade) {
  const values = shade.values(tokens);
  let largest = shade.largest ?? 0;
  if (!largest) {
    for (let index = 0; index < values.length; index += 1) {
      if (tokens.sampled[index]) largest = Math.max(largest, Math.abs(values[index]));
    }
  }
  return { shade, values, largest, heat: (index) => (largest ? values[index] / largest : 0) };
}

function legendOf({ shade, largest }) {
  const [low, high] = shade.ends(largest);
  const bar = html("span", `token-scale${shade.signed ? " token-scale--signed" : ""}`);
  bar.setAttribute("aria-hidden", "true");
  const words = (textContent) => html("span", "", { textContent });
  return [words(low), bar, words(high), words("· grey: given, not trained on")];
}

function tokenSpan(tokens, index, scale) {
  const sampled = Boolean(tokens.sampled[index]);
  const span = html("span", `token ${sampled ? "token--sampled" : "token--given"}`, {
    textContent: visibleString(tokens.text[index]),
    title: tokenFacts(tokens, index).join("\n"),
  });
  span.dataset.token = index;
  if (sampled) {
    const value = scale.heat(index);
    span.classList.add(value < 0 ? "token--against" : "token--for");
    span.style.setProperty("--heat", `${Math.round(Math.min(Math.abs(value), 1) * 75)}%`);
  }
  return tokens.text[index].endsWith("\n") ? [span, document.createElement("br")] : [span];
}

function tokenFacts(tokens, index) {
  const facts = [`token ${index}, id ${tokens.ids[index]}`];
  if (!tokens.sampled[index]) return [`${facts[0]}: given, not trained on`];
  facts.push(`probability ${Math.exp(tokens.logprobs[index]).toFixed(4)} (log ${tokens.logprobs[index].toFixed(3)})`);
  if (tokens.entropies) facts.push(`entropy ${tokens.entropies[index].toFixed(3)}`);
  if (tokens.advantages) facts.push(`advantage ${tokens.advantages[index].toFixed(3)}`);
  return facts;
}
