// Calls to our own JSON endpoints, with the token of the form they belong to.

/** POSTs `data` and gives the JSON answer; an answer that is no JSON becomes `{ok: false}` with the reason. */
export async function post(url, data, signal) {
  try {
    const response = await fetch(url, { method: "POST", body: data, signal, headers: { Accept: "application/json" } });
    if (response.redirected) return refused("You are signed out. Sign in again, then reload this page.");
    const type = response.headers.get("Content-Type") ?? "";
    if (!type.includes("json")) return refused(`The server answered with status ${response.status}. Reload this page.`);
    return await response.json();
  } catch (error) {
    if (error.name === "AbortError") return null;
    return refused("The server cannot be reached. Check that it runs, then try again.");
  }
}

const refused = (message) => ({ ok: false, errors: { "": [message] } });

/** Every problem of an answer in one line, fields named. */
export function problemsOf(answer) {
  return Object.entries(answer.errors ?? {})
    .flatMap(([field, reasons]) => reasons.map((reason) => (label(field) ? `${label(field)}: ${reason}` : reason)))
    .join(" ");
}

const label = (field) => (field === "__all__" ? "" : field.replace(/^parameter_/, "").replaceAll("_", " "));
