/** Requests to the daemon: its problems as errors, and another try where one cannot do harm. */
import type { ProblemDetails } from "./types.js";

export interface ClientOptions {
  /** The daemon's address; `http://127.0.0.1:2468` by default. */
  url?: string;
  /** The daemon's token, or a named one. */
  token?: string;
  /** The function that sends requests; the platform's own by default. */
  fetch?: typeof globalThis.fetch;
  /** A stream that is silent for longer is opened again; the daemon says something every 10 s. 25,000 by default. */
  silenceMs?: number;
  /** A request that is not answered for longer is given up; 120,000 by default. Streams have no such limit. */
  timeoutMs?: number;
}

/** A refusal of the daemon. */
export class OmniglotError extends Error {
  override readonly name = "OmniglotError";

  constructor(
    readonly status: number,
    readonly problem: ProblemDetails,
  ) {
    super(problem.detail ?? problem.title);
  }

  /** The kind of problem, such as `session_not_found`. */
  get type(): string {
    return this.problem.type.split(":").at(-1) ?? "";
  }
}

export interface RequestOptions {
  body?: unknown;
  headers?: Record<string, string>;
  /** A list is a parameter that is given several times. */
  query?: Record<string, string | number | boolean | string[] | undefined>;
  signal?: AbortSignal | undefined;
  /** Whether the request may be sent again after a cut: sending it twice does the same as once. */
  again?: boolean;
  /** The status that says, after a cut, that an earlier try has been carried out. */
  done?: number;
  /** A header that every whole answer has. */
  expects?: string;
}

const ATTEMPTS = 12;

/** How often a connection is tried where no daemon has ever answered: it is down, not away for a moment. */
const FIRST_ATTEMPTS = 5;

export class Http {
  readonly silenceMs: number;
  private readonly timeoutMs: number;
  private readonly url: string;
  private readonly token: string | undefined;
  private readonly fetch: typeof globalThis.fetch;
  private hasAnswered = false;

  constructor(options: ClientOptions) {
    this.url = (options.url ?? "http://127.0.0.1:2468").replace(/\/+$/, "");
    this.token = options.token;
    this.fetch = options.fetch ?? ((...request) => globalThis.fetch(...request));
    this.silenceMs = options.silenceMs ?? 25_000;
    this.timeoutMs = options.timeoutMs ?? 120_000;
  }

  /** Sends one request and returns the answer, whatever its status. */
  async open(method: string, path: string, options: RequestOptions = {}): Promise<Response> {
    const headers: Record<string, string> = { ...options.headers };
    if (this.token !== undefined) headers["authorization"] = `Bearer ${this.token}`;
    if (options.body !== undefined) headers["content-type"] = "application/json";
    const query = Object.entries(options.query ?? {}).filter(([, value]) => value !== undefined);
    const pairs = query.flatMap(([name, value]) => [value].flat().map((one) => [name, String(one)]));
    const search = new URLSearchParams(pairs).toString();
    const response = await this.fetch(this.url + path + (search === "" ? "" : `?${search}`), {
      method,
      headers,
      body: options.body === undefined ? null : JSON.stringify(options.body),
      signal: options.signal ?? null,
    });
    this.hasAnswered = true;
    return response;
  }

  /** Throws when nobody listens at the address and nobody ever did: another try would not help. */
  giveUpUnheard(error: unknown, attempt: number): void {
    if (this.hasAnswered || attempt < FIRST_ATTEMPTS || !isRefused(error)) return;
    const words = `no daemon answers at ${this.url}; \`omniglot daemon start\` starts one`;
    throw new TypeError(words, { cause: error });
  }

  /** Sends a request until it is answered, and returns the answer; a refusal is thrown. */
  async send(method: string, path: string, options: RequestOptions = {}): Promise<{ headers: Headers; body: unknown }> {
    let isCut = false;
    for (let attempt = 0; ; attempt++) {
      const connection = new Connection(this.timeoutMs, options.signal);
      let wait: number | undefined;
      try {
        const response = await this.open(method, path, { ...options, signal: connection.signal });
        const text = await response.text();
        const lacks = response.ok && options.expects !== undefined && !response.headers.has(options.expects);
        if (lacks || isTorn(response.status, text)) throw new TypeError("the answer was cut");
        if (isCut && response.status === options.done) return { headers: response.headers, body: undefined };
        if (response.ok) return { headers: response.headers, body: text === "" ? undefined : JSON.parse(text) };
        const error = new OmniglotError(response.status, problemOf(response.status, text));
        if (!isTransient(response.status) || attempt >= ATTEMPTS) throw error;
        wait = retryAfter(response);
      } catch (error) {
        options.signal?.throwIfAborted();
        const isTriedAgain = options.again ?? method === "GET";
        this.giveUpUnheard(error, isTriedAgain ? attempt : FIRST_ATTEMPTS);
        if (error instanceof OmniglotError || !isTriedAgain || attempt >= ATTEMPTS) throw error;
        isCut = true;
      } finally {
        connection.close();
      }
      await pause(wait ?? backoff(attempt), options.signal);
    }
  }

  async json<T>(method: string, path: string, options: RequestOptions = {}): Promise<T> {
    return (await this.send(method, path, options)).body as T;
  }
}

/** One connection, which is given up when it is silent for too long or the reader leaves. */
export class Connection {
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

  /** The other side has said something. */
  alive(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.close(new DOMException("no answer in time", "TimeoutError")), this.silenceMs);
  }

  close(reason?: unknown): void {
    clearTimeout(this.timer);
    this.reader?.removeEventListener("abort", this.leave);
    this.controller.abort(reason);
  }
}

/** Whether nobody listens at an address. Browsers do not tell. */
function isRefused(error: unknown): boolean {
  const { code, cause, errors } = Object(error) as { code?: unknown; cause?: unknown; errors?: unknown[] };
  return code === "ECONNREFUSED" || (cause !== undefined && isRefused(cause)) || (errors?.some(isRefused) ?? false);
}

/** Whether the daemon, or what stands before it, asks for another try: it has not done anything yet. */
export function isTransient(status: number): boolean {
  return status === 429 || status === 503;
}

export function retryAfter(response: Response): number | undefined {
  const seconds = Number(response.headers.get("retry-after") ?? NaN);
  return Number.isFinite(seconds) ? seconds * 1000 : undefined;
}

/** Reads the daemon's problem; nothing if it was cut. */
export async function refusal(response: Response): Promise<OmniglotError | undefined> {
  const text = await response.text().catch(() => "");
  return isTorn(response.status, text) ? undefined : new OmniglotError(response.status, problemOf(response.status, text));
}

/** Whether an answer ends too early: browsers take one that is cut in its headers or its body for a whole one. */
function isTorn(status: number, text: string): boolean {
  if (status === 204) return false;
  try {
    JSON.parse(text);
    return false;
  } catch {
    return text === "" || text.startsWith("{");
  }
}

function problemOf(status: number, text: string): ProblemDetails {
  try {
    const problem = JSON.parse(text) as ProblemDetails;
    if (typeof problem?.type === "string" && typeof problem.title === "string") return problem;
  } catch {
    // Something else than the daemon has answered.
  }
  return { type: "about:blank", title: `HTTP ${status}`, status, detail: text.slice(0, 200) || `HTTP ${status}` };
}

/** The time before another try: longer each time, at most 5 s, and different for each client. */
export function backoff(attempt: number): number {
  return Math.min(5_000, 50 * 2 ** attempt) * (0.5 + Math.random() / 2);
}

export function pause(ms: number, signal?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}
