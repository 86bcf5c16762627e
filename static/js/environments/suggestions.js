// What has been written of the present action, where several are written into one field.

/**
 * The text before the last action with its separator, and what there is of that action.
 * @param {string} text
 * @param {string | null} separator null: all of it is one action
 * @returns {[before: string, begun: string]}
 */
export function splitAtLast(text, separator) {
  const at = separator ? text.lastIndexOf(separator) : -1;
  if (!separator || at < 0) return ["", text];
  return [`${text.slice(0, at + separator.length)} `, text.slice(at + separator.length)];
}
