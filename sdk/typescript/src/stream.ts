/** The events of a session, in order and each once, over as many connections as it takes. */
import { backoff, type Http, isTransient, OmniglotError, pause, refusal, retryAfter } from "./http.js";
import type { Event, EventType } from "./types.js";

/** A position in a session's log: `EPOCH.SEQUENCE` of a stream, or a sequence. */
export type Cursor = string | number;

export interface EventsOptions {
  /** The last event that was seen; the stream begins after it, by default with the first event. */
  after?: Cursor | undefined;
  /** Only events of these types. */
  types?: readonly EventType[] | undefined;
  /** Whether events have the agent's own frames; needs the scope `admin`. */
  includeRaw?: boolean | undefined;
  /** Ends the stream; the loop throws the signal's reason. */
  signal?: AbortSignal | undefined;
  /** Is called when all events that existed at the beginning of a connection have been read. */
  onCaughtUp?: (() => void) | undefined;
}

/**
 * A session's events. Iterating connects, and connects again after a cut, a silence or a restart of the daemon.
 * The loop ends when the session is deleted, and throws an `OmniglotError` of status 410 when the log is another
 * one than that of the cursor, so that nothing is skipped silently.
 */
export class EventStream implements AsyncIterable<Event> {
  /** The position of the last event that the loop has got; give it as `after` to go on there. */
  cursor: Cursor | undefined;

  constructor(
    private readonly http: Http,
    private readonly path: string,
    private readonly options: EventsOptions,
  ) {
    this.cursor = options.after;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Event, void, undefined> {
    const { signal, types } = this.options;
    let last = sequenceOf(this.cursor);
    let existed = false;
    for (let attempt = 0; ; attempt++) {
      const connection = new Connection(this.http.silenceMs, signal);
      let wait: number | undefined;
      try {
        const response = await this.connect(connection.signal);
        connection.alive();
        // The word of the deletion was cut.
        if (existed && response.status === 404) return;
        existed ||= response.ok;
        if (isTransient(response.status) || response.status >= 502) wait = retryAfter(response);
        else if (!response.ok || response.body === null) throw await refusal(response);
        else
          for await (const frame of frames(response.body, connection)) {
            signal?.throwIfAborted();
            attempt = 0;
            if (frame.event === "deleted") return;
            if (frame.event === "caught_up") this.options.onCaughtUp?.();
            if (frame.event !== "message") continue;
            const event = JSON.parse(frame.data) as Event;
            if (event.sequence <= last) continue;
            if (types === undefined && event.sequence !== last + 1) break;
            last = event.sequence;
            this.cursor = frame.id;
            yield event;
          }
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof OmniglotError || error instanceof SyntaxError) throw error;
      } finally {
        connection.close();
      }
      await pause(wait ?? backoff(attempt), signal);
    }
  }

  private connect(signal: AbortSignal): Promise<Response> {
    const { includeRaw, types } = this.options;
    const query = { include_raw: includeRaw, types: types?.join(",") };
    const headers = this.cursor === undefined ? {} : { "last-event-id": String(this.cursor) };
    return this.http.open("GET", this.path, { query, headers: { accept: "text/event-stream", ...headers }, signal });
  }
}

/** One connection, which is given up when it is silent for too long or the reader leaves. */
class Connection {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout> | undefined;
  private readonly leave = () => this.close();

  constructor(
    private readonly silenceMs: number,
    private readonly reader: AbortSignal | undefined,
  ) {
    if (reader?.aborted) this.controller.abort();
    reader?.addEventListener("abort", this.leave, { once: true });
    this.alive();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  alive(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.controller.abort(), this.silenceMs);
  }

  close(): void {
    clearTimeout(this.timer);
    this.reader?.removeEventListener("abort", this.leave);
    this.controller.abort();
  }
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
    const { done, value } = await reader.read();
    if (done) return;
    connection.alive();
    const [first = "", ...rest] = decoder.decode(value, { stream: true }).split("\n");
    pieces.push(first);
    for (const next of rest) {
      const line = pieces.join("").replace(/\r$/, "");
      pieces = [next];
      if (line !== "") read(line, frame);
      else {
        if (frame.data !== "" || frame.event !== "message") yield frame;
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

function sequenceOf(cursor: Cursor | undefined): number {
  return cursor === undefined ? 0 : Number(String(cursor).split(".").at(-1));
}
