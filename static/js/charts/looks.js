// How all charts of Plotly look: colours and type of the page around them, and the dashes of lines that share a colour.

export const DASHES = ["solid", "dash", "dot", "dashdot", "longdash", "longdashdot"]; // as the swatches of `run_colours.css`

/** @param {HTMLElement} host */
export function looksOf(host) {
  const style = getComputedStyle(host);
  const css = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  const base = {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: css("--font-text"), size: 11, color: css("--text-muted") },
    hovermode: "closest",
    hoverlabel: {
      bgcolor: css("--surface"),
      bordercolor: css("--border"),
      font: { color: css("--text"), size: 12 },
      align: "left",
    },
    dragmode: false,
    showlegend: false,
  };
  return { css, base };
}
