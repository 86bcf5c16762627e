// Before the first paint: the theme that was chosen, or the system's.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    let chosen = "system";
    try {
      chosen = localStorage.getItem("starboard.theme") || "system";
    } catch {
      /* storage is off: follow the system */
    }
    const dark = chosen === "dark" || (chosen === "system" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.dataset.chosenTheme = chosen;
  };
  apply();
  system.addEventListener("change", apply);
  addEventListener("storage", apply);
  addEventListener("starboard:theme", apply);
})();
