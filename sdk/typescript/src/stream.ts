/** Events in order and each once, of one session or of all, over as many connections as it takes. */
import { backoff, Connection, type Http, isTransient, OmniglotError, pause, refusal, type RequestOptions, retryAfter } from "./http.js";
import type { Event, EventType, Schemas } from "./types.js";

/** A position in a log: the `cursor` of a stream, or a number alone. */
export type Cursor = string | number;

export interface StreamOptions {
  /** Only events of these types. */
  types?: readonly EventType[] | undefined;
  /** Ends the stream; the loop throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Is called when all events that existed at the beginning of a connection have been read. */
  onCaughtUp?: (() => void) | undefined;
  /** Is called when a connection could not be made or is over, before another one is tried. */
  onCut?: (() => void) | undefined;
}

export interface EventsOptions extends StreamOptions {
  /** The last event that was seen; the stream begins after it, by default with the first event. */
  after?: Cursor | undefined;
  /** Whether events have the agent's own frames; needs the scope `admin`. */
  includeRaw?: boolean | undefined;
}

/** A place that the daemon cannot read: an event of a session, or one commit of the daemon's log. */
export type Damage = { session_id: string; sequence: number } | { number: number };

export interface AllEventsOptions extends StreamOptions {
  /** The position that was seen last; the stream begins after it, by default now, with 0 at the oldest kept event. */
  after?: Cursor | undefined;
  /** Only sessions of this agent. */
  agent?: string | undefined;
  /** Only sessions with all these labels. */
  labels?: Record<string, string> | undefined;
  /** Whether there are `item.delta`, too, when `types` does not say. */
  deltas?: boolean | undefined;
  /** Is called when a session was deleted. */
  onDeleted?: ((sessionId: string) => void) | undefined;
  /** Is called for what cannot be read, and the stream goes on; without it the loop throws a `DamagedError`. */
  onDamaged?: ((damage: Damage) => void) | undefined;
}

/** The daemon cannot read an event; the stream's `cursor` is the position after it. */
export class DamagedError extends Error {
  override readonly name = "DamagedError";

  constructor(readonly damage: Damage) {
    super(`the daemon cannot read ${JSON.stringify(damage)}`);
  }
}

/** After so many tries in a row that brought nothing the daemon is asked why. */
const FRUITLESS = 5;

/** A frame tells an event, nothing of interest, that the stream is over, or that something is missing before it. */
type Told = Event | undefined | "over" | "gap";

abstract class Stream implements AsyncIterable<Event> {
  /** The position of the last event that the loop has got; give it as `after` to go on there. */
  cursor: Cursor | undefined;

  constructor(
    protected readonly http: Http,
    protected readonly path: string,
    private readonly common: StreamOptions & { after?: Cursor | undefined },
    private readonly query: NonNullable<RequestOptions["query"]>,
  ) {
    this.cursor = common.after;
  }

  protected abstract read(frame: Frame): Told;

  /** Throws what keeps the daemon from telling more, if it says so. */
  protected async ask(_: AbortSignal): Promise<void> {}

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { signal, onCaughtUp, onCut } = this.common;
    let existed = false;
    for (let attempt = 0; ; attempt++) {
      const connection = new Connection(this.http.silenceMs, signal);
      let wait: number | undefined;
      try {
        if (attempt % FRUITLESS === FRUITLESS - 1) await this.ask(connection.signal);
        const response = await this.connect(connection, attempt);
        // The word of the deletion was cut.
        if (existed && response?.status === 404) return;
        existed ||= response?.ok === true;
        if (response?.body && response.ok)
          for await (const frame of frames(response.body, connection)) {
            signal?.throwIfAborted();
            attempt = 0;
            if (frame.event === "caught_up") onCaughtUp?.();
            const told = this.read(frame);
            if (told === "over") return;
            if (told === "gap") break;
            if (told !== undefined) yield told;
          }
        else if (response) wait = await refused(response);
      } finally {
        connection.close();
      }
      signal?.throwIfAborted();
      onCut?.();
      await pause(wait ?? backoff(attempt), signal);
    }
  }

  /** Opens the stream; nothing comes back if that was cut. */
  private async connect(connection: Connection, attempt: number): Promise<Response | undefined> {
    const cursor = this.cursor === undefined ? {} : { "last-event-id": String(this.cursor) };
    const headers = { accept: "text/event-stream", ...cursor };
    const options = { query: this.query, headers, signal: connection.signal };
    const unheard = (error: unknown) => this.http.giveUpUnheard(error, attempt);
    const response = (await this.http.open("GET", this.path, options).catch(unheard)) ?? undefined;
    if (response) connection.alive();
    return response;
  }
}

/**
 * A session's events. Iterating connects, and connects again after a cut, a silence or a restart of the daemon.
 * The loop ends when the session is deleted, and throws an `OmniglotError`: of status 410 when the log is another
 * one than that of the cursor, so that nothing is skipped silently, and of status 500 at an event that the daemon
 * cannot read.
 */
export class EventStream extends Stream {
  constructor(http: Http, session: string, private readonly options: EventsOptions) {
    super(http, `${session}/events/sse`, options, { include_raw: options.includeRaw, types: options.types?.join() });
  }

  protected read({ id, event: name, data }: Frame): Told {
    if (name === "deleted") return "over";
    if (name !== "message" || data === "") return undefined;
    const event = JSON.parse(data) as Event;
    if (event.sequence <= this.last) return undefined;
    if (!this.options.types?.length && event.sequence !== this.last + 1) return "gap";
    this.cursor = id;
    return event;
  }

  /** A stream only breaks off at an event that cannot be read, also one of another type; a page says why. */
  protected override async ask(signal: AbortSignal): Promise<void> {
    const { types, includeRaw } = this.options;
    const path = this.path.replace(/\/sse$/, "");
    for (let offset = this.last; ; ) {
      const query = { include_raw: includeRaw, offset, limit: types?.length ? 1_000 : 1 };
      const response = await this.http.open("GET", path, { query, signal }).catch(() => undefined);
      if (!response?.ok) {
        const error = response && (await refusal(response));
        if (error?.status === 500) throw error;
        return;
      }
      const page: Schemas["EventsResponse"] | undefined = await response.json().catch(() => undefined);
      const last = page?.events.at(-1);
      // Whatever the stream can still tell comes first.
      if (!page?.hasMore || !last || !types?.length || page.events.some(({ type }) => types.includes(type))) return;
      offset = last.sequence;
    }
  }

  private get last(): number {
    return this.cursor === undefined ? 0 : Number(String(this.cursor).split(".").at(-1));
  }
}

/**
 * The events of all sessions that the token sees, in the order in which they were committed. It survives what an
 * `EventStream` survives, and throws an `OmniglotError` of status 410 when its cursor is of other data or too old.
 */
export class AllEventStream extends Stream {
  constructor(http: Http, private readonly options: AllEventsOptions) {
    const { types, agent, labels, deltas } = options;
    super(http, "/v1/events/sse", options, { types: types?.join(), agent, label: labelFilter(labels), deltas });
  }

  protected read({ id, event: name, data }: Frame): Told {
    if (id !== "") this.cursor = id;
    if (data === "") return undefined;
    const { onDeleted, onDamaged } = this.options;
    const told = JSON.parse(data);
    if (name === "deleted") onDeleted?.(told.session_id);
    if (name === "damaged" && onDamaged === undefined) throw new DamagedError(told);
    if (name === "damaged") onDamaged?.(told);
    return name === "message" ? told : undefined;
  }
}

/** Labels as the daemon's filters take them. */
export function labelFilter(labels: Record<string, string> | undefined): string[] | undefined {
  return labels && Object.entries(labels).map(([key, value]) => `${key}:${value}`);
}

/** Returns how long to wait before another try; throws if that would not help. */
async function refused(response: Response): Promise<number | undefined> {
  if (isTransient(response.status) || response.status >= 502) return retryAfter(response);
  const error: OmniglotError | undefined = await refusal(response);
  if (error) throw error;
  return undefined;
}

interface Frame {
  id: string;
  event: string;
  data: string;
}

/** Reads server-sent events; one that is cut is not told. */
async function* frames(body: ReadableStream<Uint8Array>, connection: Connection): AsyncGenerator<Frame> {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  // A line may come in thousands of pieces: they are joined once.
  let pieces: string[] = [];
  let frame: Frame = { id: "", event: "message", data: "" };
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }));
    if (done) return;
    connection.alive();
    const [first = "", ...rest] = decoder.decode(value, { stream: true }).split("\n");
    pieces.push(first);
    for (const next of rest) {
      const line = pieces.join("").replace(/\r$/, "");
      pieces = [next];
      if (line !== "") read(line, frame);
      else {
        if (frame.id !== "" || frame.data !== "" || frame.event !== "message") yield frame;
        frame = { id: "", event: "message", data: "" };
      }
    }
  }
}

function read(line: string, frame: Frame): void {
  const colon = line.indexOf(":");
  if (colon <= 0) return;
  const value = line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
  const field = line.slice(0, colon);
  if (field === "data") frame.data += frame.data === "" ? value : `\n${value}`;
  else if (field === "id" || field === "event") frame[field] = value;
}
