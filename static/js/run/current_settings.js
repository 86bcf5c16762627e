// What the engine has changed while it ran, from its own events.

/** By field: what it was launched with, what holds now, and after which step that came. */
export function settingsNow(events) {
  const found = new Map();
  for (const event of events)
    for (const [field, { old, new: now }] of Object.entries(event.changes)) {
      const original = found.has(field) ? found.get(field).original : old;
      found.set(field, { original, now, step: event.step });
    }
  return found;
}

/** A value in a few words; of rules how many there are, for they are listed under Alerts. */
export function settingText(value) {
  if (!Array.isArray(value)) return String(value);
  return `${value.length} ${value.length === 1 ? "rule" : "rules"}`;
}
