// What the engine has changed while it ran, from its own events.

/** @import { Setting, SettingsChanged } from "../types.js" */
/** @typedef {{ original: Setting, now: Setting, step: number }} ChangedSetting */

/**
 * By field: the value at launch, the value now, and the step after which it was changed.
 * @param {SettingsChanged[]} events
 * @returns {Map<string, ChangedSetting>}
 */
export function currentSettings(events) {
  /** @type {Map<string, ChangedSetting>} */
  const found = new Map();
  for (const event of events) {
    for (const [field, change] of Object.entries(event.changes)) {
      const before = found.get(field);
      found.set(field, { original: before ? before.original : change.old, now: change.new, step: event.step });
    }
  }
  return found;
}

/**
 * A value as text: a filter with its settings; of rules how many there are, for they are listed under Alerts.
 * @param {Setting} value
 */
export function settingText(value) {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    const { type, ...settings } = value;
    const words = Object.entries(settings).map(([name, one]) => `${name} ${one}`);
    return words.length ? `${type} (${words.join(", ")})` : type;
  }
  if (!Array.isArray(value)) return String(value);
  return `${value.length} ${value.length === 1 ? "rule" : "rules"}`;
}
