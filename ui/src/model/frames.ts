/** Changes are shown once per frame: signals that are due wait here for the next one. */
import { batch, type Signal } from "@preact/signals";

/** The time between two looks while a whole log is read. */
const SELDOM_MS = 800;

const due = new Set<Signal<number>>();
let isWaiting = false;
let isSeldom = false;

/** Has everybody who reads this signal look again in the next frame. */
export function redraw(tick: Signal<number>): void {
  due.add(tick);
  if (isWaiting) return;
  isWaiting = true;
  // A hidden tab has no frames.
  if (isSeldom || document.hidden) setTimeout(flush, SELDOM_MS);
  else requestAnimationFrame(flush);
}

/** Whether a long log is being read, of which the end is what people want to see. */
export function setSeldom(seldom: boolean): void {
  isSeldom = seldom;
  if (!seldom) flush();
}

function flush(): void {
  isWaiting = false;
  const ticks = [...due];
  due.clear();
  batch(() => {
    for (const tick of ticks) tick.value += 1;
  });
}

document.addEventListener("visibilitychange", () => {
  if (due.size > 0) flush();
});
