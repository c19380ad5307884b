/** One stream of a session from its first event on, folded, and told to everybody in this program who listens. */
import { Fold } from "./fold.js";
import { OmniglotError } from "./http.js";
import type { EventStream } from "./stream.js";
import type { Event } from "./types.js";
import { type Change, View } from "./view.js";

/** Hears what happens, but not what had happened before. */
export interface Listener {
  event(event: Event, change: Change): void;
  /** Everything that had happened is folded. */
  live?(): void;
  /** The log was replaced by another one: what was open in it is lost. */
  lost?(error: unknown): void;
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
  private running: AbortController | undefined;
  private synced = new Synced();

  /** `isLive`: whether events are news; they are not while the log is read up to where it was when we connected. */
  constructor(
    private readonly open: Open,
    public isLive: boolean,
  ) {}

  /** Begins to follow, and waits until everything that has happened so far is folded. */
  sync(): Promise<void> {
    if (this.running === undefined) {
      this.running = new AbortController();
      void this.run(this.running);
    }
    return this.synced.promise;
  }

  close(): void {
    const reason = new Closed("the session is not followed any more");
    this.running?.abort(reason);
    this.end(reason);
  }

  /** Adds a listener; returns how to remove it. */
  listen(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private async run(controller: AbortController): Promise<void> {
    const reason = await this.read(controller.signal).catch((error: unknown) => error);
    // A session that was closed may be followed anew by now.
    if (this.running === controller) this.end(reason);
  }

  private end(reason: unknown): void {
    this.running = undefined;
    this.synced.reject(reason);
    this.reset();
    const listeners = [...this.listeners];
    this.listeners.clear();
    for (const listener of listeners) listener.end(reason);
  }

  /** Follows until the end, and returns its reason. */
  private async read(signal: AbortSignal): Promise<unknown> {
    for (;;) {
      const stream = this.open(signal, () => this.caughtUp());
      try {
        for await (const event of stream) {
          signal.throwIfAborted();
          this.hear(event);
        }
        return new Closed("the session was deleted");
      } catch (error) {
        if (!(error instanceof OmniglotError && error.status === 410) || stream.cursor === undefined) throw error;
        // The log is another one: it is folded from its beginning.
        this.reset();
        this.tell((listener) => listener.lost?.(error));
      }
    }
  }

  private hear(event: Event): void {
    this.fold.apply(event);
    const change = this.view.apply(event);
    if (this.isLive) this.tell((listener) => listener.event(event, change));
  }

  private caughtUp(): void {
    if (!this.isLive) {
      this.isLive = true;
      this.tell((listener) => listener.live?.());
    }
    this.synced.resolve();
  }

  private tell(tell: (listener: Listener) => void): void {
    for (const listener of [...this.listeners]) if (this.listeners.has(listener)) tell(listener);
  }

  private reset(): void {
    this.isLive = false;
    if (this.synced.isSettled) this.synced = new Synced();
    [this.fold, this.view] = [new Fold(), new View()];
  }
}

/** A promise that everything is folded; nobody has to wait for it. */
class Synced {
  isSettled = false;
  resolve!: () => void;
  reject!: (error: unknown) => void;
  readonly promise = new Promise<void>((resolve, reject) => {
    this.resolve = () => resolve(this.settled());
    this.reject = (error) => reject((this.settled(), error));
  });

  constructor() {
    this.promise.catch(() => undefined);
  }

  private settled(): void {
    this.isSettled = true;
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

  /** Whether the value was still waiting. */
  remove(value: T): boolean {
    const at = this.values.indexOf(value);
    if (at >= 0) this.values.splice(at, 1);
    return at >= 0;
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
