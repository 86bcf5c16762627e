// A report: its charts follow runs that have not ended.

import { byId } from "../core/dom.js";

const EVERY = 15_000; // ms

async function refresh() {
  const body = byId("report-body");
  if (document.hidden || body.dataset.live === undefined || body.contains(document.activeElement)) return;
  const answer = await fetch(location.href).catch(() => null);
  if (!answer?.ok || answer.redirected) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const next = page.getElementById("report-body");
  if (next && !next.isEqualNode(body)) body.replaceWith(document.adoptNode(next));
}

if (document.getElementById("report-body")) setInterval(refresh, EVERY);
