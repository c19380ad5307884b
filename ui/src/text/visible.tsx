/** Text as it is: characters that would act on a terminal, or turn text around, are shown instead of obeyed. */
import type { ComponentChildren } from "preact";

const NAMES: Record<string, string> = { "\x1b": "ESC", "\r": "CR", "\x07": "BEL", "\b": "BS", "\0": "NUL", "\x7f": "DEL" };

// Controls but tab and line feed, marks and overrides of direction, and characters without a width that join nothing.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

function name(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return NAMES[character] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The text with visible names for hidden characters: for titles, labels and options. */
export function plain(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(HIDDEN, (character) => `‹${name(character)}›`);
}

/** The text as nodes, with the names of hidden characters set apart. */
export function visible(text: string): ComponentChildren {
  const unix = text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
  if (unix.search(HIDDEN) < 0) return unix;
  const nodes: ComponentChildren[] = [];
  let from = 0;
  for (const { 0: character, index } of unix.matchAll(HIDDEN)) {
    if (index > from) nodes.push(unix.slice(from, index));
    nodes.push(<span class="esc">‹{name(character)}›</span>);
    from = index + character.length;
  }
  nodes.push(unix.slice(from));
  return nodes;
}
