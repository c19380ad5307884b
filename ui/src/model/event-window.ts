/** A part of a session's log: so many events in a row, read by pages, and followed where it is the end. */
import { signal } from "@preact/signals";
import type { Event, Schemas } from "../../../sdk/typescript/src/index.js";
import { get, pathOf } from "../daemon/api.js";
import { redraw } from "./frames.js";

const PAGE = 200;
/** With few types, this much of the log is looked through at once. */
const REACH = 5_000;
/** So many events are kept at the end, and so many that came while a page was read. */
const KEPT = PAGE * 2;

type Page = Schemas["EventsResponse"];

export class EventWindow {
  /** Only events of these types, if there are any. */
  types: Event["type"][] = [];
  events: Event[] = [];
  isBusy = true;
  hasBefore = false;
  hasAfter = false;
  readonly tick = signal(0);
  private round = 0;
  /** The last event of the log that the window knows of, whether it shows it or not. */
  private end = 0;
  /** Events that came while a page was read. */
  private waiting: Event[] = [];

  /** `last` tells the last event that has come so far; every later one has to be added. */
  constructor(private readonly session: string, private readonly last: () => number) {}

  async toFirst(): Promise<void> {
    await this.show(() => this.page(0, PAGE));
  }

  async toLast(): Promise<void> {
    const last = this.last();
    await this.show(async () => ({ events: await this.back(last + 1), hasMore: false }));
  }

  /** Shows the events around one of them. */
  async toAround(sequence: number): Promise<void> {
    if (this.last() - sequence < PAGE / 2) return this.toLast();
    await this.show(() => this.page(Math.max(0, sequence - PAGE / 2), PAGE));
  }

  async toOlder(): Promise<void> {
    const first = this.events[0]?.sequence ?? 1;
    await this.show(async () => ({ events: await this.back(first), hasMore: true }));
  }

  async toNewer(): Promise<void> {
    const last = this.events.at(-1)?.sequence ?? 0;
    await this.show(() => this.page(last, PAGE));
  }

  /** Adds a new event to a window that has the end; after one that is missing there is more to read. */
  add(event: Event): void {
    if (this.isBusy) {
      this.waiting.push(event);
      if (this.waiting.length > 2 * KEPT) this.waiting.splice(0, KEPT);
      return;
    }
    if (this.hasAfter || event.sequence <= this.end) return;
    if (event.sequence === this.end + 1) {
      this.end = event.sequence;
      this.append(event);
    } else this.hasAfter = true;
    redraw(this.tick);
  }

  words(): string {
    const [first, last] = [this.events[0]?.sequence, this.events.at(-1)?.sequence];
    return first === undefined ? "" : `${first.toLocaleString("en-US")} to ${(last ?? first).toLocaleString("en-US")}`;
  }

  private append(event: Event): void {
    const isWanted = this.types.length === 0 || this.types.includes(event.type);
    if (!isWanted || event.sequence <= (this.events.at(-1)?.sequence ?? 0)) return;
    this.events = [...this.events, event].slice(-KEPT);
    this.hasBefore = (this.events[0]?.sequence ?? 1) > 1;
  }

  private async show(read: () => Promise<Page>): Promise<void> {
    const round = ++this.round;
    // A page that is read from now on has all of them, and what comes waits for it.
    const end = this.last();
    this.isBusy = true;
    try {
      const { events, hasMore } = await read();
      if (round !== this.round) return;
      [this.events, this.hasAfter, this.end] = [events, hasMore, end];
      this.hasBefore = (events[0]?.sequence ?? 1) > 1;
    } finally {
      if (round === this.round) this.addWaiting();
      redraw(this.tick);
    }
  }

  private addWaiting(): void {
    this.isBusy = false;
    const waiting = this.waiting;
    this.waiting = [];
    for (const event of waiting) this.add(event);
  }

  /** The page that ends before a sequence; with a filter, further back until something is found. */
  private async back(before: number): Promise<Event[]> {
    const reach = this.types.length === 0 ? PAGE : REACH;
    let found: Event[] = [];
    for (let to = before; to > 1 && found.length < PAGE; to -= reach) {
      const offset = Math.max(0, to - 1 - reach);
      const { events } = await this.page(offset, reach);
      found = [...events.filter(({ sequence }) => sequence < to), ...found];
    }
    return found.slice(-PAGE);
  }

  private page(offset: number, limit: number): Promise<Page> {
    const query = { offset, limit, types: this.types.length > 0 ? this.types.join() : undefined };
    return get(`${pathOf(this.session)}/events`, query);
  }
}
