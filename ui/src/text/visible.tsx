/** Text as it is: characters that would act on a terminal, or turn text around, are shown instead of obeyed. */
import type { ComponentChildren } from "preact";

const NAMES: Record<string, string> = { "\x1b": "ESC", "\r": "CR", "\x07": "BEL", "\b": "BS", "\0": "NUL", "\x7f": "DEL" };

// Controls but tab and line feed, marks and overrides of direction, and characters that are seen as nothing or as a space
// but join nothing: runs of them.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{1d173}-\u{1d17a}\u{e0000}-\u{e007f}\u{e0100}-\u{e01ef}]+/gu;
/** So many names in a row are written out. */
const REPEATED = 8;
/** With more runs, names are not set apart: each takes nodes of the page. */
const APART = 500;

function name(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return NAMES[character] ?? `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** The names of a run of hidden characters; one that comes many times is counted. */
function names(run: string): string {
  const counted: { name: string; times: number }[] = [];
  for (const character of run) {
    const last = counted.at(-1);
    if (last?.name === name(character)) last.times += 1;
    else counted.push({ name: name(character), times: 1 });
  }
  return counted.map(({ name, times }) => (times > REPEATED ? `‹${name}×${times}›` : `‹${name}›`.repeat(times))).join("");
}

/** The text with visible names for hidden characters: for titles, labels and options. */
export function plain(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(HIDDEN, names);
}

/** The beginning of a text for a label or a place of one line; the whole text stands elsewhere. */
export function brief(text: string, most = 300): string {
  return plain(text.length > most ? `${text.slice(0, most)}…` : text);
}

/** The text as nodes, with the names of hidden characters set apart. */
export function visible(text: string): ComponentChildren {
  const unix = text.includes("\r\n") ? text.replaceAll("\r\n", "\n") : text;
  const runs = [...unix.matchAll(HIDDEN)];
  if (runs.length === 0) return unix;
  if (runs.length > APART) return plain(unix);
  const nodes: ComponentChildren[] = [];
  let from = 0;
  for (const { 0: run, index } of runs) {
    if (index > from) nodes.push(unix.slice(from, index));
    nodes.push(<span class="esc">{names(run)}</span>);
    from = index + run.length;
  }
  nodes.push(unix.slice(from));
  return nodes;
}
