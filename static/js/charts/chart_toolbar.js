// The tools over the charts: axis, smoothing, outliers, and back to the whole.

const WITH_SCRUBBER = ["collapse", "filter", "rollouts"];

/** Shows `view` in the tools; `onChange()` after the reader changed it. Gives what shows it again. */
export function prepareChartTools(view, onChange) {
  const axis = document.getElementById("x-axis");
  const smoothing = document.getElementById("smoothing");
  const outliers = document.getElementById("outliers");
  const chosen = document.getElementById("chosen-step");
  const reset = document.getElementById("reset-zoom");
  const change = (changes) => {
    view.look(changes);
    show();
    onChange();
  };
  const show = () => {
    axis.value = view.axis;
    smoothing.value = view.smoothing;
    outliers.checked = view.outliers;
    document.getElementById("smoothing-value").textContent = view.smoothing.toFixed(2);
    if (!chosen) return; // a page without scrubbers
    chosen.hidden = view.step === null || WITH_SCRUBBER.includes(view.tab);
    chosen.textContent = `step ${view.step} ✕`;
  };
  show();
  axis.addEventListener("change", () => change({ axis: axis.value }));
  smoothing.addEventListener("input", () => change({ smoothing: Number(smoothing.value) }));
  outliers.addEventListener("change", () => change({ outliers: outliers.checked }));
  chosen?.addEventListener("click", () => change({ step: null }));
  reset.addEventListener("click", () => {
    view.reset();
    onChange();
  });
  return show;
}
