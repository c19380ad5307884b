/** The daemon: the SDK's client with this tab's token, and what a refusal means for the page. */
import { Http, type RequestOptions } from "../../../sdk/typescript/src/http.js";
import {
  Agents, AllEventStream, type AllEventsOptions, OmniglotError, type Schemas, Session, Sessions,
} from "../../../sdk/typescript/src/index.js";
import { logOut, tellScope, token } from "./login.js";
import { tell, words } from "./notices.js";

/** The daemon's address: the page is at `/ui/` below it. */
const ROOT = new URL("..", location.origin + location.pathname).href.replace(/\/$/, "");

let client: { token: string; http: Http } | undefined;

export function http(): Http {
  const secret = token.peek() ?? "";
  if (client?.token !== secret) {
    const fetch: typeof globalThis.fetch = async (...request) => {
      const response = await globalThis.fetch(...request);
      const told = response.headers.get("omniglot-scope");
      if (told !== null) tellScope(told);
      return response;
    };
    client = { token: secret, http: new Http({ url: ROOT, fetch, ...(secret === "" ? {} : { token: secret }) }) };
  }
  return client.http;
}

export const sessions = (): Sessions => new Sessions(http());
export const agents = (): Agents => new Agents(http());
export const session = (id: string): Session => new Session(http(), id);
export const allEvents = (options: AllEventsOptions): AllEventStream => new AllEventStream(http(), options);
export const pathOf = (id: string): string => `/v1/sessions/${encodeURIComponent(id)}`;

export function get<T>(path: string, query?: RequestOptions["query"], signal?: AbortSignal): Promise<T> {
  return http().json<T>("GET", path, { ...(query ? { query } : {}), signal });
}

export function post<T = void>(path: string, body?: unknown): Promise<T> {
  return http().json<T>("POST", path, { body });
}

/** Whether a path that an agent may have written is one of the daemon's own: nothing else gets the token. */
export function isOurs(path: string): boolean {
  return path.startsWith("/v1/");
}

/** Fetches bytes with the token: images, long diffs. */
export async function bytes(path: string): Promise<Response> {
  if (!isOurs(path)) throw new Error("not a path of the daemon");
  const response = await http().open("GET", path);
  if (!response.ok) throw new OmniglotError(response.status, { type: "", title: `HTTP ${response.status}`, status: response.status });
  return response;
}

/** Keeps a file for a session's messages. */
export async function upload(id: string, file: File): Promise<Schemas["MessageAttachment"]> {
  const query = new URLSearchParams({ name: file.name });
  const headers: Record<string, string> = { "content-type": "application/octet-stream" };
  if (token.peek()) headers["authorization"] = `Bearer ${token.peek()}`;
  const response = await fetch(`${ROOT}${pathOf(id)}/uploads?${query}`, { method: "POST", headers, body: file });
  const body = await response.json();
  if (!response.ok) throw new OmniglotError(response.status, body);
  return body;
}

/** Whether an error ends the login; the page then asks for a token. */
export function isLoggedOut(error: unknown): boolean {
  if (!(error instanceof OmniglotError) || error.status !== 401) return false;
  logOut("The daemon does not accept this token: it is wrong, has expired or was revoked.");
  return true;
}

/** Does something that a person asked for; what goes wrong is told. Returns whether it went well. */
export async function attempt(act: () => Promise<unknown>): Promise<boolean> {
  try {
    await act();
    return true;
  } catch (error) {
    if (isLoggedOut(error)) return false;
    const { text, hint } = words(error);
    tell("error", text, hint);
    return false;
  }
}
