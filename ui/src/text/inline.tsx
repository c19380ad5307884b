/** The markup within a line of Markdown, as nodes. HTML is text, images are links, and only web links are links. */
import type { ComponentChildren } from "preact";
import { visible } from "./visible.js";

const DEPTH = 6;
const LINK = /^(https?:\/\/|mailto:)/i;
const STOPS = /[`*_~[!\\<h]/g;

/** Where each delimiter comes next: a text is looked through once for each of them, however many are open. */
class Ends {
  private readonly known = new Map<string, number>();

  constructor(private readonly text: string) {}

  /** The first place of a delimiter from a place on, which never lies before that of an earlier question; -1 if there is none. */
  next(mark: string, from: number): number {
    const before = this.known.get(mark);
    if (before !== undefined && (before < 0 || before >= from)) return before;
    const found = this.text.indexOf(mark, from);
    this.known.set(mark, found);
    return found;
  }
}

export function inline(text: string, depth = 0): ComponentChildren[] {
  const ends = new Ends(text);
  const nodes: ComponentChildren[] = [];
  let [from, at] = [0, 0];
  const flush = (to: number) => {
    if (to > from) nodes.push(visible(text.slice(from, to)));
  };
  while (at < text.length) {
    STOPS.lastIndex = at;
    const stop = STOPS.exec(text);
    if (stop === null) break;
    at = stop.index;
    const found = depth < DEPTH ? span(text, at, depth, ends) : undefined;
    if (found === undefined) {
      at += text[at] === "`" ? run(text, at) : 1;
      continue;
    }
    flush(at);
    nodes.push(found.node);
    from = at = found.end;
  }
  flush(text.length);
  return nodes;
}

type Found = { node: ComponentChildren; end: number } | undefined;

function span(text: string, at: number, depth: number, ends: Ends): Found {
  switch (text[at]) {
    case "`":
      return code(text, at, ends);
    case "*":
    case "_":
      return emphasis(text, at, depth, ends);
    case "~":
      return text.startsWith("~~", at) ? pair(text, at, "~~", depth, ends, (nodes) => <s>{nodes}</s>) : undefined;
    case "!":
      return text[at + 1] === "[" ? link(text, at + 1, depth, ends) : undefined;
    case "[":
      return link(text, at, depth, ends);
    case "<":
    case "h":
      return bare(text, at);
    case "\\": {
      const next = text[at + 1];
      return next !== undefined && /[\\`*_{}[\]()#+\-.!~|<>]/.test(next) ? { node: next, end: at + 2 } : undefined;
    }
    default:
      return undefined;
  }
}

/** How often the character at a place is repeated there. */
function run(text: string, at: number): number {
  let length = 1;
  while (text[at + length] === text[at]) length += 1;
  return length;
}

function code(text: string, at: number, ends: Ends): Found {
  const length = run(text, at);
  const to = length > 3 ? -1 : ends.next("`".repeat(length), at + length);
  if (to < 0) return undefined;
  return { node: <code>{visible(text.slice(at + length, to).replace(/^ (.*) $/s, "$1"))}</code>, end: to + length };
}

function emphasis(text: string, at: number, depth: number, ends: Ends): Found {
  const mark = text[at] ?? "*";
  // An underscore within a word is part of a name.
  if (mark === "_" && /\w/.test(text[at - 1] ?? " ")) return undefined;
  if (text[at + 1] === mark) return pair(text, at, mark + mark, depth, ends, (nodes) => <strong>{nodes}</strong>);
  return pair(text, at, mark, depth, ends, (nodes) => <em>{nodes}</em>);
}

function pair(
  text: string, at: number, mark: string, depth: number, ends: Ends, wrap: (nodes: ComponentChildren[]) => ComponentChildren,
): Found {
  const from = at + mark.length;
  if (/\s/.test(text[from] ?? " ")) return undefined;
  const to = ends.next(mark, from + 1);
  if (to < 0 || /\s/.test(text[to - 1] ?? " ")) return undefined;
  if (mark.startsWith("_") && /\w/.test(text[to + mark.length] ?? " ")) return undefined;
  return { node: wrap(inline(text.slice(from, to), depth + 1)), end: to + mark.length };
}

function link(text: string, at: number, depth: number, ends: Ends): Found {
  const middle = ends.next("](", at + 1);
  if (middle < 0 || middle - at > 1_000) return undefined;
  const to = ends.next(")", middle + 2);
  if (to < 0 || to - middle > 4_000) return undefined;
  const target = text.slice(middle + 2, to).trim().split(/\s/)[0] ?? "";
  const label = text.slice(at + 1, middle);
  const words = inline(label === "" ? target : label, depth + 1);
  const node = LINK.test(target)
    ? <a href={target} target="_blank" rel="noopener noreferrer">{words}</a>
    : <>{words} <span class="target">({visible(target)})</span></>;
  return { node, end: to + 1 };
}

const BARE = /<?(https?:\/\/[^\s<>"'`\u202a-\u202e\u2066-\u2069]{1,2000})/y;

function bare(text: string, at: number): Found {
  if (/\w/.test(text[at - 1] ?? " ")) return undefined;
  BARE.lastIndex = at;
  const url = withoutMarks(BARE.exec(text)?.[1] ?? "");
  if (!LINK.test(url)) return undefined;
  const isAngled = text[at] === "<";
  const to = at + url.length + (isAngled ? 1 : 0);
  const node = <a href={url} target="_blank" rel="noopener noreferrer">{visible(url)}</a>;
  return { node, end: isAngled && text[to] === ">" ? to + 1 : to };
}

/** An address without the marks behind it, which belong to the sentence. */
function withoutMarks(url: string): string {
  let end = url.length;
  while (end > 0 && ".,;:!?)]*_".includes(url[end - 1] ?? "")) end -= 1;
  return url.slice(0, end);
}
