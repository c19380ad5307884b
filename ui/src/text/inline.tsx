/** The markup within a line of Markdown, as nodes. HTML is text, images are links, and only web links are links. */
import type { ComponentChildren } from "preact";
import { visible } from "./visible.js";

const DEPTH = 6;
const LINK = /^(https?:\/\/|mailto:)/i;
const STOPS = /[`*_~[!\\<h]/g;

/** Delimiters that have no end after a place; looking for them again is vain. */
type Vain = Set<string>;

export function inline(text: string, depth = 0, vain: Vain = new Set()): ComponentChildren[] {
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
    const found = depth < DEPTH ? span(text, at, depth, vain) : undefined;
    if (found === undefined) {
      at += 1;
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

function span(text: string, at: number, depth: number, vain: Vain): Found {
  switch (text[at]) {
    case "`":
      return code(text, at, vain);
    case "*":
    case "_":
      return emphasis(text, at, depth, vain);
    case "~":
      return text.startsWith("~~", at) ? pair(text, at, "~~", depth, vain, (nodes) => <s>{nodes}</s>) : undefined;
    case "!":
      return text[at + 1] === "[" ? link(text, at + 1, depth, vain) : undefined;
    case "[":
      return link(text, at, depth, vain);
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

function end(text: string, mark: string, from: number, vain: Vain): number {
  if (vain.has(mark)) return -1;
  const found = text.indexOf(mark, from);
  if (found < 0) vain.add(mark);
  return found;
}

function code(text: string, at: number, vain: Vain): Found {
  let length = 1;
  while (text[at + length] === "`") length += 1;
  const mark = "`".repeat(length);
  const to = length > 3 ? -1 : end(text, mark, at + length, vain);
  if (to < 0) return undefined;
  return { node: <code>{visible(text.slice(at + length, to).replace(/^ (.*) $/s, "$1"))}</code>, end: to + length };
}

function emphasis(text: string, at: number, depth: number, vain: Vain): Found {
  const mark = text[at] ?? "*";
  // An underscore within a word is part of a name.
  if (mark === "_" && /\w/.test(text[at - 1] ?? " ")) return undefined;
  if (text[at + 1] === mark) return pair(text, at, mark + mark, depth, vain, (nodes) => <strong>{nodes}</strong>);
  return pair(text, at, mark, depth, vain, (nodes) => <em>{nodes}</em>);
}

function pair(
  text: string, at: number, mark: string, depth: number, vain: Vain, wrap: (nodes: ComponentChildren[]) => ComponentChildren,
): Found {
  const from = at + mark.length;
  if (/\s/.test(text[from] ?? " ")) return undefined;
  const to = end(text, mark, from + 1, vain);
  if (to < 0 || /\s/.test(text[to - 1] ?? " ")) return undefined;
  if (mark.startsWith("_") && /\w/.test(text[to + mark.length] ?? " ")) return undefined;
  return { node: wrap(inline(text.slice(from, to), depth + 1)), end: to + mark.length };
}

function link(text: string, at: number, depth: number, vain: Vain): Found {
  const middle = end(text, "](", at + 1, vain);
  if (middle < 0 || middle - at > 1_000) return undefined;
  const to = end(text, ")", middle + 2, vain);
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
  const url = BARE.exec(text)?.[1]?.replace(/[.,;:!?)\]*_]+$/, "");
  if (url === undefined) return undefined;
  const isAngled = text[at] === "<";
  const to = at + url.length + (isAngled ? 1 : 0);
  const node = <a href={url} target="_blank" rel="noopener noreferrer">{visible(url)}</a>;
  return { node, end: isAngled && text[to] === ">" ? to + 1 : to };
}
