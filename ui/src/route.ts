/** The addresses of the page: everything behind the `#`, which no server sees. */
import { signal } from "@preact/signals";

export type Tab = "transcript" | "changes" | "events";

export type Route =
  | { page: "home" }
  | { page: "new" }
  | { page: "agents" }
  | { page: "session"; id: string; tab: Tab; turn?: string; sequence?: number };

export const route = signal<Route>(parse(location.hash));

export function parse(hash: string): Route {
  const [page, id, tab, at] = hash.replace(/^#\/?/, "").split("/").map(decoded);
  if (page === "new" || page === "agents") return { page };
  if (page !== "session" || !id) return { page: "home" };
  if (tab === "changes") return { page, id, tab };
  if (tab === "events") return { page, id, tab, ...(Number(at) > 0 ? { sequence: Number(at) } : {}) };
  return { page, id, tab: "transcript", ...(tab === "turn" && at ? { turn: at } : {}) };
}

export function address(route: Route): string {
  if (route.page !== "session") return route.page === "home" ? "#/" : `#/${route.page}`;
  const session = `#/session/${encodeURIComponent(route.id)}`;
  if (route.tab === "changes") return `${session}/changes`;
  if (route.tab === "events") return `${session}/events${route.sequence ? `/${route.sequence}` : ""}`;
  return route.turn ? `${session}/turn/${encodeURIComponent(route.turn)}` : session;
}

export function go(to: Route): void {
  location.hash = address(to);
}

/** Changes the address without an entry in the history. */
export function replace(to: Route): void {
  history.replaceState(null, "", address(to));
  route.value = to;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
