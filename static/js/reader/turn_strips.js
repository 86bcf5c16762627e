// The turn scrubber: a column per turn, with bars of its reward, penalty, return to go, advantage, entropy and
// log-probability. A row without any value is left out.

import { findAll } from "../core/dom.js";
import { withModifier } from "../core/keys.js";
import { html, svg } from "../core/html.js";
import { played } from "./surplus.js";

/** @import { TrajectoryRecord, Turn } from "../types.js" */

const WIDTH = 44;
const HEIGHT = 26;
/** @typedef {{ name: string, label: string, value: (turn: Turn) => number | null }} Strip */

/** @type {Strip[]} */
const STRIPS = [
  { name: "reward", label: "reward", value: (turn) => turn.reward },
  { name: "penalty", label: "penalty", value: (turn) => turn.penalty || null },
  { name: "to-go", label: "to go", value: (turn) => turn.return_to_go },
  { name: "advantage", label: "advantage", value: (turn) => turn.advantage },
  { name: "entropy", label: "entropy", value: (turn) => turn.entropy },
  { name: "logprob", label: "log-prob.", value: (turn) => turn.logprob },
];

/**
 * @param {HTMLElement} host
 * @param {TrajectoryRecord} record
 * @param {(turn: number) => void} choose
 */
export function drawStrips(host, record, choose) {
  const { turns } = record;
  const dots = html("div", "strip strip-turns", { role: "tablist" });
  dots.setAttribute("aria-label", "Turns");
  turns.forEach((turn, index) => {
    const solved = record.success && index === turns.length - 1;
    const marks = [
      turn.parse === "ok" ? "" : " strip-turn--fault",
      turn.surplus ? " strip-turn--surplus" : "",
      solved ? " strip-turn--solved" : "",
    ];
    const button = html("button", `strip-turn${marks.join("")}`, {
      type: "button",
      textContent: String(index + 1),
      title: `Turn ${index + 1}${turn.surplus ? `: ${played(turn)}` : ""}`,
    });
    button.setAttribute("role", "tab");
    button.addEventListener("click", () => choose(index));
    dots.append(button);
  });
  dots.addEventListener("keydown", (event) => turnBy(event, dots, choose));
  const strips = STRIPS.flatMap((strip) => row(strip, turns) ?? []);
  host.replaceChildren(
    html("div", "strip-row", {}, html("span", "strip-label muted", { textContent: "turn" }), dots),
    ...strips,
  );
}

/** @type {Record<string, number>} */
const ALONG = { ArrowLeft: -1, ArrowRight: 1 };

/**
 * ← and → go from turn to turn, as in every list of tabs; elsewhere on the page they lead to other members
 * @param {KeyboardEvent} event
 * @param {HTMLElement} dots
 * @param {(turn: number) => void} choose
 */
function turnBy(event, dots, choose) {
  const step = ALONG[event.key];
  if (!step || withModifier(event)) return;
  event.preventDefault();
  event.stopPropagation();
  const all = findAll(dots, "button");
  const next = (all.findIndex((one) => one === event.target) + step + all.length) % all.length;
  choose(next);
  all[next].focus({ preventScroll: true });
}

/**
 * @param {HTMLElement} host
 * @param {number} current
 */
export function markStrip(host, current) {
  findAll(host, ".strip-turn").forEach((button, index) => {
    button.setAttribute("aria-selected", String(index === current));
    button.tabIndex = index === current ? 0 : -1;
  });
  // sideways only: the page itself stays where the reader left it
  const middle = 84 + (current + 0.5) * WIDTH;
  if (middle < host.scrollLeft + WIDTH || middle > host.scrollLeft + host.clientWidth - WIDTH) {
    host.scrollLeft = middle - host.clientWidth / 2;
  }
  for (const bar of findAll(host, ".strip-bar", SVGElement)) {
    bar.classList.toggle("strip-bar--current", Number(bar.dataset.turn) === current);
  }
}

/**
 * @param {Strip} strip
 * @param {Turn[]} turns
 */
function row({ name, label, value }, turns) {
  const values = turns.map(value);
  if (values.every((one) => typeof one !== "number")) return null;
  const largest = Math.max(...values.map((one) => Math.abs(one ?? 0)), 1e-9);
  const [above, below] = [values.some((one) => (one ?? 0) > 0), values.some((one) => (one ?? 0) < 0)];
  const signed = above && below;
  const zero = signed ? HEIGHT / 2 : below ? 1 : HEIGHT - 1;
  const picture = svg(
    "svg",
    { class: `strip strip--${name}`, width: turns.length * WIDTH, height: HEIGHT, role: "img" },
    svg("title", {}, `${label} by turn: ${values.map((one) => one?.toFixed(2) ?? "–").join(", ")}`),
    svg("path", { class: "strip-zero", d: `M0 ${zero} H${turns.length * WIDTH}` }),
  );
  values.forEach((one, turn) => {
    const length = (Math.abs(one ?? 0) / largest) * (signed ? HEIGHT / 2 - 1 : HEIGHT - 2);
    picture.append(
      svg("rect", {
        class: `strip-bar${(one ?? 0) < 0 ? " strip-bar--below" : ""}`,
        "data-turn": turn,
        x: turn * WIDTH + 12,
        width: WIDTH - 24,
        y: (one ?? 0) < 0 ? zero : zero - length,
        height: Math.max(length, 0.5),
        rx: 1.5,
      }),
    );
  });
  return html("div", "strip-row", {}, html("span", "strip-label muted", { textContent: label }), picture);
}
