/** The token of this tab: taken from the address, kept in sessionStorage, and never anywhere else. */
import { signal } from "@preact/signals";
import type { Schemas } from "../../../sdk/typescript/src/index.js";
import { parse, route } from "../route.js";

const TOKEN = "omniglot.token";
const SCOPE = "omniglot.scope";
/** Where the page was when its token ended. */
const BACK = "omniglot.back";

export type Scope = Schemas["Scope"];

/** Each scope allows everything that lower ones allow; that of metrics allows nothing of this page. */
const RANKS: Record<Scope, number> = { metrics: 0, read: 1, answer: 2, drive: 3, admin: 4 };

/** The token; empty for a daemon without one, null before the login. */
export const token = signal<string | null>(sessionStorage.getItem(TOKEN));
/** The widest scope that the token may have, and whether the daemon has said so. */
export const scope = signal<{ widest: Scope; isTold: boolean }>(storedScope());
/** Why the page asks for a token again. */
export const refused = signal<string | null>(null);

export function may(needed: Scope): boolean {
  return RANKS[scope.value.widest] >= RANKS[needed];
}

/** Takes a token out of the address, if there is one, and cleans the address. */
export function takeFromAddress(): void {
  const found = new URLSearchParams(location.hash.slice(1));
  const secret = found.get("token");
  if (secret === null) return;
  const before = sessionStorage.getItem(BACK) ?? "#/";
  sessionStorage.removeItem(BACK);
  history.replaceState(null, "", location.pathname + location.search + before);
  route.value = parse(before);
  logIn(secret, found.get("scope"));
}

export function logIn(secret: string, told: string | null = null): void {
  sessionStorage.setItem(TOKEN, secret);
  sessionStorage.removeItem(SCOPE);
  scope.value = { widest: "admin", isTold: false };
  if (told !== null) tellScope(told);
  refused.value = null;
  token.value = secret;
}

export function logOut(reason: string | null = null): void {
  if (reason !== null) sessionStorage.setItem(BACK, location.hash);
  else sessionStorage.removeItem(BACK);
  sessionStorage.removeItem(TOKEN);
  sessionStorage.removeItem(SCOPE);
  refused.value = reason;
  token.value = null;
}

/** The daemon has told the scope of the token. */
export function tellScope(told: string): void {
  const widest = scopeOf(told);
  if (widest === undefined || (scope.peek().isTold && scope.peek().widest === widest)) return;
  sessionStorage.setItem(SCOPE, widest);
  scope.value = { widest, isTold: true };
}

function scopeOf(told: string | null): Scope | undefined {
  return (Object.keys(RANKS) as Scope[]).find((known) => known === told);
}

function storedScope(): { widest: Scope; isTold: boolean } {
  const stored = scopeOf(sessionStorage.getItem(SCOPE));
  return stored ? { widest: stored, isTold: true } : { widest: "admin", isTold: false };
}
