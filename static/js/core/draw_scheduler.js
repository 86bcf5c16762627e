// Schedules drawings of a page: one at a time, begun at once. A request during a drawing waits for the next frame.
// Updates of live data are throttled: after a drawing they wait for as long as it took, so that updates which come faster
// than they can be drawn leave half of the time to the reader's clicks and to scripts that are still loading. A hidden
// tab draws nothing.

const LONGEST_PAUSE = 1000; // milliseconds; a drawing may have waited for the network

/**
 * Two functions that request `draw()`, which may be asynchronous: `request` for what the reader did, `update` for live
 * data. `drawn()` is called in the frame after each drawing.
 * @param {() => void | Promise<void>} draw
 * @param {() => void} [drawn]
 */
export function oneAtATime(draw, drawn = () => {}) {
  let inProgress = false;
  let requested = false;
  let updated = false;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let pause;

  function request() {
    requested = true;
    schedule();
  }

  function update() {
    updated = true;
    schedule();
  }

  function schedule() {
    const isDue = requested || (updated && pause === undefined);
    if (!isDue || inProgress || document.hidden) return;
    inProgress = true;
    clearTimeout(pause);
    pause = undefined;
    queueMicrotask(begin);
  }

  async function begin() {
    requested = updated = false;
    const began = performance.now();
    try {
      await draw();
    } finally {
      requestAnimationFrame(() => {
        drawn();
        inProgress = false;
        pause = setTimeout(resume, Math.min(performance.now() - began, LONGEST_PAUSE));
        schedule();
      });
    }
  }

  function resume() {
    pause = undefined;
    schedule();
  }

  return { request, update };
}
