// The tokens of a turn, coloured by what was computed for each. Drawn only when asked for.

import { html } from "./svg.js";
import { visibleString } from "./visible_text.js";

const MOST_AT_ONCE = 4000;
const SHADES = {
  advantage: { label: "Advantage", legend: "green: made likelier; orange: made less likely; the stronger, the more" },
  entropy: { label: "Entropy", legend: "the darker, the more undecided the model was" },
  probability: { label: "Probability", legend: "the darker, the less likely the token was" },
  mask: { label: "Mask", legend: "coloured tokens were sampled and are trained on; the others were given" },
};

const LACKING = {
  advantage: "No advantages were computed for this trajectory.",
  entropy: "The sampler of this trajectory does not tell entropies.",
};

let chosen = ""; // kept from turn to turn

export function tokenPanel(record, turn) {
  const host = html("div", "token-stream");
  const legend = html("p", "muted token-legend");
  const buttons = Object.entries(SHADES).map(([name, { label }]) => {
    const button = html("button", "button", { type: "button", textContent: label });
    button.dataset.shade = name;
    button.disabled = lacks(record, name);
    if (button.disabled) button.title = LACKING[name];
    button.addEventListener("click", () => show(chosen === name ? "" : name));
    return button;
  });
  function show(shade) {
    chosen = shade;
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.shade === shade));
    legend.textContent = shade ? SHADES[shade].legend : "";
    host.replaceChildren();
    if (shade) append(host, record, turn, shade, turn.prompt_start);
  }
  show(lacks(record, chosen) ? "" : chosen);
  const bar = html("div", "toolbar", {}, html("h3", "turn-part-title", { textContent: "Tokens by" }), ...buttons);
  return html("section", "turn-part turn-tokens", {}, bar, legend, host);
}

function lacks(record, shade) {
  if (shade === "advantage") return !record.tokens.advantages;
  return shade === "entropy" && !record.tokens.entropies;
}

function append(host, record, turn, shade, from) {
  const to = Math.min(turn.reply_end, from + MOST_AT_ONCE);
  const heat = heatOf(record.tokens, shade);
  for (let index = from; index < to; index += 1) host.append(token(record.tokens, index, shade, heat));
  if (to === turn.reply_end) return;
  const more = html("button", "button", { type: "button", textContent: `Show ${turn.reply_end - to} more tokens` });
  more.addEventListener("click", () => {
    more.remove();
    append(host, record, turn, shade, to);
  });
  host.append(more);
}

/** A function from a token's place to its heat, -1 to 1, on one scale for the whole trajectory. */
function heatOf(tokens, shade) {
  if (shade === "mask") return () => 0.6;
  if (shade === "probability") return (index) => 1 - Math.exp(tokens.logprobs[index]);
  const values = shade === "advantage" ? tokens.advantages : tokens.entropies;
  const largest = values.reduce(
    (most, value, index) => (tokens.sampled[index] ? Math.max(most, Math.abs(value)) : most),
    0,
  );
  return (index) => (largest ? values[index] / largest : 0);
}

function token(tokens, index, shade, heat) {
  const sampled = Boolean(tokens.sampled[index]);
  const span = html("span", `token ${sampled ? "token--sampled" : "token--given"}`, {
    textContent: visibleString(tokens.text[index]),
    title: tooltip(tokens, index, sampled),
  });
  if (sampled) {
    const value = heat(index);
    span.classList.add(value < 0 ? "token--against" : "token--for");
    span.style.setProperty("--heat", `${Math.round(Math.min(Math.abs(value), 1) * 75)}%`);
  }
  const lineEnds = tokens.text[index].endsWith("\n");
  if (!lineEnds) return span;
  const fragment = document.createDocumentFragment();
  fragment.append(span, document.createElement("br"));
  return fragment;
}

function tooltip(tokens, index, sampled) {
  const facts = [`token ${index}, id ${tokens.ids[index]}`];
  if (!sampled) return `${facts[0]}: given, not trained on`;
  facts.push(`probability ${Math.exp(tokens.logprobs[index]).toFixed(4)} (log ${tokens.logprobs[index].toFixed(3)})`);
  if (tokens.entropies) facts.push(`entropy ${tokens.entropies[index].toFixed(3)}`);
  if (tokens.advantages) facts.push(`advantage ${tokens.advantages[index].toFixed(3)}`);
  return facts.join("\n");
}
