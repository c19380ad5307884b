/** Which turns of a long list are in the page: those near what is seen, and never more than a bound. */

/** The most turns in the page. */
const MOST = 50;
/** The height of a turn that was never seen, in pixels. */
const GUESS = 160;
/** Pixels beyond both edges that are kept ready. */
const MARGIN = 1_000;

export interface Window {
  from: number;
  to: number;
  /** The heights of everything before and after. */
  above: number;
  below: number;
}

export class Heights {
  private readonly known = new Map<string, number>();

  set(key: string, height: number): boolean {
    if (height <= 0 || this.known.get(key) === height) return false;
    this.known.set(key, height);
    return true;
  }

  get(key: string): number {
    return this.known.get(key) ?? GUESS;
  }

  /** The window of a list that is scrolled to `top` in a pane of this height. */
  window(keys: string[], top: number, pane: number): Window {
    let [from, above] = [0, 0];
    while (from < keys.length - 1 && above + this.get(keys[from] ?? "") < top - MARGIN) above += this.get(keys[from++] ?? "");
    let [to, height] = [from, above];
    while (to < keys.length && to - from < MOST && height < top + pane + MARGIN) height += this.get(keys[to++] ?? "");
    return { from, to, above, below: this.sum(keys, to) };
  }

  /** The window that ends with the last of the list. */
  tail(keys: string[], pane: number): Window {
    let [from, height] = [keys.length, 0];
    while (from > 0 && keys.length - from < MOST && height < pane + MARGIN) height += this.get(keys[--from] ?? "");
    return { from, to: keys.length, above: this.sum(keys.slice(0, from), 0), below: 0 };
  }

  top(keys: string[], at: number): number {
    return this.sum(keys.slice(0, at), 0);
  }

  private sum(keys: string[], from: number): number {
    let height = 0;
    for (let at = from; at < keys.length; at++) height += this.get(keys[at] ?? "");
    return height;
  }
}
