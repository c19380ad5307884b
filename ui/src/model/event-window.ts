/** A part of a session's log: so many events in a row, read by pages, and followed where it is the end. */
import { signal } from "@preact/signals";
import type { Event, Schemas } from "../../../sdk/typescript/src/index.js";
import { get, pathOf } from "../daemon/api.js";
import { touch } from "./frames.js";

const PAGE = 200;
/** With few types, this much of the log is looked through at once. */
const REACH = 5_000;

type Types = Event["type"][];

export class EventWindow {
  events: Event[] = [];
  isBusy = true;
  hasBefore = false;
  hasAfter = false;
  readonly tick = signal(0);
  private round = 0;

  constructor(private readonly session: string) {}

  async first(types: Types): Promise<void> {
    await this.show(async () => this.page(types, 0, PAGE));
  }

  async last(types: Types, last: number): Promise<void> {
    await this.show(async () => ({ events: await this.back(types, last + 1), hasMore: false }));
  }

  /** The events around one of them. */
  async around(types: Types, sequence: number, last: number): Promise<void> {
    if (last - sequence < PAGE / 2) return this.last(types, last);
    await this.show(() => this.page(types, Math.max(0, sequence - PAGE / 2), PAGE));
  }

  async before(types: Types): Promise<void> {
    const first = this.events[0]?.sequence ?? 1;
    await this.show(async () => ({ events: await this.back(types, first), hasMore: true }));
  }

  async after(types: Types): Promise<void> {
    const last = this.events.at(-1)?.sequence ?? 0;
    await this.show(() => this.page(types, last, PAGE));
  }

  /** A new event belongs to a window that has the end. */
  hear(event: Event, types: Types): void {
    if (this.hasAfter || this.isBusy || (types.length > 0 && !types.includes(event.type))) return;
    if (event.sequence <= (this.events.at(-1)?.sequence ?? 0)) return;
    this.events = [...this.events, event].slice(-PAGE * 2);
    this.hasBefore = (this.events[0]?.sequence ?? 1) > 1;
    touch(this.tick);
  }

  words(): string {
    const [first, last] = [this.events[0]?.sequence, this.events.at(-1)?.sequence];
    return first === undefined ? "" : `${first.toLocaleString("en-US")} to ${(last ?? first).toLocaleString("en-US")}`;
  }

  private async show(read: () => Promise<{ events: Event[]; hasMore: boolean }>): Promise<void> {
    const round = ++this.round;
    this.isBusy = true;
    try {
      const { events, hasMore } = await read();
      if (round !== this.round) return;
      this.events = events;
      this.hasAfter = hasMore;
      this.hasBefore = (events[0]?.sequence ?? 1) > 1;
    } finally {
      if (round === this.round) this.isBusy = false;
      touch(this.tick);
    }
  }

  /** The page that ends before a sequence; with a filter, further back until something is found. */
  private async back(types: Types, before: number): Promise<Event[]> {
    const reach = types.length === 0 ? PAGE : REACH;
    let found: Event[] = [];
    for (let to = before; to > 1 && found.length < PAGE; to -= reach) {
      const offset = Math.max(0, to - 1 - reach);
      const { events } = await this.page(types, offset, reach);
      found = [...events.filter(({ sequence }) => sequence < to), ...found];
    }
    return found.slice(-PAGE);
  }

  private page(types: Types, offset: number, limit: number): Promise<Schemas["EventsResponse"]> {
    const query = { offset, limit, types: types.length > 0 ? types.join() : undefined };
    return get(`${pathOf(this.session)}/events`, query);
  }
}
