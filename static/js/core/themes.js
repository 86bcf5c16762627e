// The order in which a key or a click goes through the themes.

/**
 * From the system's theme to the other one, to the system's by name, and back to following it: of three presses, the
 * first two change what is seen or what is kept, and the first one always what is seen.
 * @param {string} chosen "system", "light" or "dark"
 * @param {boolean} systemIsDark
 */
export function nextTheme(chosen, systemIsDark) {
  const [same, other] = systemIsDark ? ["dark", "light"] : ["light", "dark"];
  if (chosen === "system") return other;
  return chosen === other ? same : "system";
}
