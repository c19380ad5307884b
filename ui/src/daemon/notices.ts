/** Short messages about what went wrong or was done. */
import { signal } from "@preact/signals";
import { OmniglotError } from "../../../sdk/typescript/src/index.js";

export interface Notice {
  id: number;
  kind: "error" | "info";
  text: string;
  hint?: string;
}

const KEPT = 4;
const SHOWN_MS = { info: 8_000, error: 30_000 };

export const notices = signal<Notice[]>([]);
let next = 1;

export function tell(kind: Notice["kind"], text: string, hint?: string | null): void {
  const notice: Notice = { id: next++, kind, text, ...(hint ? { hint } : {}) };
  notices.value = [...notices.value.filter((known) => known.text !== text), notice].slice(-KEPT);
  setTimeout(() => dismiss(notice.id), SHOWN_MS[kind]);
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id);
}

export function clearNotices(): void {
  notices.value = [];
}

/** The problem in words, with the next step if the daemon names one. */
export function words(error: unknown): { text: string; hint: string | null } {
  if (error instanceof OmniglotError) return { text: error.message, hint: error.problem.hint ?? null };
  if (error instanceof TypeError)
    return { text: "The daemon does not answer.", hint: "Is it running? `omniglot serve` starts it." };
  return { text: error instanceof Error ? error.message : String(error), hint: null };
}
