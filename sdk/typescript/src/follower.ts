/** One stream of a session from its first event on, folded, and told to everybody in this program who listens. */
import { Fold } from "./fold.js";
import { OmniglotError } from "./http.js";
import type { EventStream } from "./stream.js";
import type { Event } from "./types.js";
import { type Change, View } from "./view.js";

export interface Listener {
  event(event: Event, change: Change): void;
  /** The stream is over: the session is deleted, nobody follows it any more, or the daemon refuses it. */
  end(error: unknown): void;
}

/** Why a follower has ended without a refusal. */
export class Closed extends Error {
  override readonly name = "Closed";
}

type Open = (signal: AbortSignal, onCaughtUp: () => void) => EventStream;

export class Follower {
  fold = new Fold();
  view = new View();
  private readonly listeners = new Set<Listener>();
  private running: { controller: AbortController; caughtUp: Promise<void> } | undefined;

  constructor(private readonly open: Open) {}

  /** Begins to follow, and waits until everything that has happened so far is folded. */
  sync(): Promise<void> {
    if (this.running === undefined) {
      const controller = new AbortController();
      const caughtUp = new Promise<void>((resolve, reject) => {
        void this.run(controller, resolve).then(reject);
      });
      // Whoever waits for it is told; nobody has to.
      caughtUp.catch(() => undefined);
      this.running = { controller, caughtUp };
    }
    return this.running.caughtUp;
  }

  close(): void {
    const reason = new Closed("the session is not followed any more");
    this.running?.controller.abort(reason);
    this.end(reason);
  }

  /** Adds a listener; returns how to remove it. */
  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Follows until the end, and returns its reason. */
  private async run(controller: AbortController, onCaughtUp: () => void): Promise<unknown> {
    const reason = await this.read(controller.signal, onCaughtUp).catch((error: unknown) => error);
    // A session that was closed may be followed anew by now.
    if (this.running?.controller === controller) this.end(reason);
    return reason;
  }

  private end(reason: unknown): void {
    this.running = undefined;
    this.reset();
    const listeners = [...this.listeners];
    this.listeners.clear();
    for (const listener of listeners) listener.end(reason);
  }

  private async read(signal: AbortSignal, onCaughtUp: () => void): Promise<unknown> {
    for (;;) {
      try {
        for await (const event of this.open(signal, onCaughtUp)) this.hear(event);
        return new Closed("the session was deleted");
      } catch (error) {
        if (!(error instanceof OmniglotError && error.status === 410)) throw error;
        // The log is another one: everything is told again.
        this.reset();
      }
    }
  }

  private hear(event: Event): void {
    this.fold.apply(event);
    const change = this.view.apply(event);
    for (const listener of [...this.listeners]) listener.event(event, change);
  }

  private reset(): void {
    [this.fold, this.view] = [new Fold(), new View()];
  }
}

/** Values that are waited for one after the other. */
export class Queue<T> implements AsyncIterableIterator<T> {
  private readonly values: T[] = [];
  private waiting: ((result: IteratorResult<T>) => void) | undefined;
  private over: { error?: unknown } | undefined;
  private refuse: ((error: unknown) => void) | undefined;

  constructor(private readonly left: () => void) {}

  push(value: T): void {
    if (this.waiting === undefined) this.values.push(value);
    else this.settle({ done: false, value });
  }

  remove(isIt: (value: T) => boolean): void {
    const at = this.values.findIndex(isIt);
    if (at >= 0) this.values.splice(at, 1);
  }

  /** Ends the loop; with an error, the loop throws it. */
  end(error?: unknown): void {
    this.over ??= error === undefined ? {} : { error };
    if (error !== undefined && this.refuse !== undefined) this.refuse(error);
    else if (this.waiting !== undefined) this.settle({ done: true, value: undefined });
  }

  next(): Promise<IteratorResult<T>> {
    const value = this.values.shift();
    if (value !== undefined) return Promise.resolve({ done: false, value });
    if (this.over !== undefined)
      return "error" in this.over
        ? Promise.reject(this.over.error)
        : Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      [this.waiting, this.refuse] = [resolve, reject];
    });
  }

  return(): Promise<IteratorResult<T>> {
    this.left();
    this.end();
    return Promise.resolve({ done: true, value: undefined });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  private settle(result: IteratorResult<T>): void {
    const waiting = this.waiting;
    [this.waiting, this.refuse] = [undefined, undefined];
    waiting?.(result);
  }
}
