/** Numbers, times and sizes in few characters. */
import type { Usage } from "../../../sdk/typescript/src/index.js";

export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString("en-US");
  if (value < 1_000_000) return `${(value / 1_000).toFixed(value < 100_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1_000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

export function cost(usd: number): string {
  return `$${usd.toFixed(usd >= 0.00005 && usd < 0.1 ? 4 : 2)}`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${ms} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1_000)} s`;
}

export function ago(ms: number, now = Date.now()): string {
  const seconds = Math.max(0, (now - ms) / 1_000);
  if (seconds < 45) return "now";
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

export function clock(time: string): string {
  return new Date(time).toLocaleTimeString("en-GB");
}

export function stamp(time: string | number): string {
  const date = new Date(time);
  return `${date.toLocaleDateString("en-CA")} ${date.toLocaleTimeString("en-GB")}`;
}

export function total(usage: Usage): number {
  const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, total_tokens } = usage;
  return total_tokens ?? (input_tokens ?? 0) + (output_tokens ?? 0) + (cache_read_tokens ?? 0) + (cache_write_tokens ?? 0);
}

const KINDS = [
  ["input_tokens", "in"], ["output_tokens", "out"], ["reasoning_tokens", "thinking"],
  ["cache_read_tokens", "cache read"], ["cache_write_tokens", "cache write"],
] as const;

/** Every number of a usage, in words. */
export function usageWords(usage: Usage): string {
  return KINDS.flatMap(([key, word]) => (usage[key] ? [`${count(usage[key])} ${word}`] : [])).join(", ");
}

export function plural(number: number, word: string): string {
  return `${number.toLocaleString("en-US")} ${word}${number === 1 ? "" : "s"}`;
}
