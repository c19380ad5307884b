/** Changes are shown once per frame: signals that are due wait here for the next one. */
import { batch, type Signal } from "@preact/signals";

const due = new Set<Signal<number>>();
let isWaiting = false;

/** Has everybody who reads this signal look again in the next frame. */
export function touch(tick: Signal<number>): void {
  due.add(tick);
  if (isWaiting) return;
  isWaiting = true;
  // A hidden tab has no frames.
  if (document.hidden) setTimeout(flush, 100);
  else requestAnimationFrame(flush);
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
