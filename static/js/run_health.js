// The same judgement as the server's, over what the page knows: one word and one sentence.

const RECENT = 10;

export function judge(state, steps, alerts, heldOut) {
  if (state.shown_as === "restarting") return ["restarting", state.label, state.reason];
  if (["queued", "starting"].includes(state.state))
    return ["queued", "Waiting", state.wait_reason || "The engine is starting."];
  if (["failed", "crashed"].includes(state.state))
    return ["failed", state.label, [state.reason, state.remedy].filter(Boolean).join(" ") || "See the log."];
  if (["stalled", "lost"].includes(state.state))
    return ["stalled", state.label, state.reason || "Nothing has been heard for a while."];
  if (!steps.length) return ["queued", "Waiting", state.wait_reason || "No step is done yet."];
  const metrics = steps.map((one) => one.metrics);
  const recent = metrics.slice(-RECENT);
  const success = mean(recent, "rollout/success");
  const first = mean(metrics.slice(0, RECENT), "rollout/success");
  const parse = mean(metrics.slice(-3), "rollout/parse_ok_rate", 1);
  let best = 0;
  for (let i = 0; i + RECENT <= metrics.length; i += 1)
    best = Math.max(best, mean(metrics.slice(i, i + RECENT), "rollout/success"));
  const facts = sentence(metrics, first, success, parse, heldOut);
  if (parse < 0.5)
    return ["broken-format", "Broken format", `Only ${(100 * parse).toFixed(0)}% of replies parse. ${facts}`];
  if (success === 0 && recent.length >= 5)
    return ["dead", "Dead", `No trajectory has succeeded for ${recent.length} steps. ${facts}`];
  if (metrics.length >= 2 * RECENT && best >= 0.1 && success < 0.5 * best)
    return ["collapsing", "Collapsing", `Success fell from ${best.toFixed(2)} to ${success.toFixed(2)}. ${facts}`];
  if (alerts.some((alert) => alert.severity === "critical" || alert.severity === "warn"))
    return ["at-risk", "At risk", `An alert is open. ${facts}`];
  if (success > 0.95) return ["converged", "Converged", facts];
  if (metrics.length < RECENT) return ["running", "Under way", facts];
  if (success > first + 0.03) return ["learning", "Learning", facts];
  return ["running", "Flat", `Success has not moved yet. ${facts}`];
}

function sentence(metrics, first, success, parse, heldOut) {
  const spread = mean(metrics.slice(-RECENT), "reward/in_group_std");
  const early = mean(metrics.slice(0, RECENT), "reward/in_group_std");
  const words = spread > 0.5 * early ? "healthy" : spread > 0.1 * early ? "shrinking" : "gone";
  return `Training success ${first.toFixed(2)} → ${success.toFixed(2)}${puzzles(heldOut)} · in-group spread ${words} (${spread.toFixed(2)}) · ${(100 * parse).toFixed(1)}% of replies parse`;
}

// on puzzles that are never trained on: the first and the newest evaluation, with half of its interval
function puzzles(heldOut) {
  const newest = heldOut.at(-1);
  if (!newest) return "";
  const before = heldOut.length > 1 ? `${heldOut[0].success.toFixed(2)} → ` : "";
  return ` · held-out ${before}${newest.success.toFixed(2)} ± ${((newest.high - newest.low) / 2).toFixed(2)}`;
}

function mean(metrics, name, missing = 0) {
  const values = metrics.filter((one) => name in one).map((one) => one[name]);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : missing;
}
