/** Markdown as nodes: headings, lists, code, quotes, tables, rules and paragraphs. What is none of them stays text. */
import { memo } from "./memo.js";
import type { ComponentChildren, VNode } from "preact";
import { inline } from "./inline.js";
import { visible } from "./visible.js";

const DEPTH = 6;
/** A line that is longer is a paragraph, whatever it begins with. */
const LONGEST = 2_000;

export const Markdown = memo(({ text }: { text: string }) => <div class="md">{blocks(text.replaceAll("\r\n", "\n").split("\n"), 0)}</div>);

/** What a block is made of, and the line after it. */
type Block = { node: ComponentChildren; next: number } | undefined;
type Reader = (lines: string[], at: number, depth: number) => Block;

const READERS: Reader[] = [fence, heading, rule, quote, list, table];

function blocks(lines: string[], depth: number): VNode[] {
  const nodes: VNode[] = [];
  let at = 0;
  while (at < lines.length) {
    if (lines[at]?.trim() === "") {
      at += 1;
      continue;
    }
    const block = special(lines, at, depth) ?? paragraph(lines, at);
    nodes.push(<>{block.node}</>);
    at = Math.max(block.next, at + 1);
  }
  return nodes;
}

/** What begins at a line, unless that is a paragraph. */
function special(lines: string[], at: number, depth: number): Block {
  for (const reader of READERS) {
    const found = reader(lines, at, depth);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** The line, or nothing if it is too long to be more than words. */
function short(line = ""): string {
  return line.length > LONGEST ? "" : line;
}

function fence(lines: string[], at: number): Block {
  const line = short(lines[at]);
  const [, indent = "", mark] = /^( {0,3})(`{3,}|~{3,})/.exec(line) ?? [];
  const info = line.slice(indent.length + (mark?.length ?? 0));
  if (mark === undefined || info.includes("`")) return undefined;
  let to = at + 1;
  while (to < lines.length && !closes(lines[to] ?? "", mark)) to += 1;
  const body = lines.slice(at + 1, to).map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line));
  const node = (
    <>
      {info.trim() !== "" && <span class="language">{visible(info.trim())}</span>}
      <pre class="code" tabIndex={0}><code>{visible(body.join("\n"))}</code></pre>
    </>
  );
  return { node, next: to + 1 };
}

function closes(line: string, mark: string): boolean {
  const trimmed = line.trim();
  return trimmed.length >= mark.length && trimmed.length < 64 && trimmed === (mark[0] ?? "`").repeat(trimmed.length);
}

function heading(lines: string[], at: number): Block {
  const line = short(lines[at]);
  const [before, marks] = /^ {0,3}(#{1,6})(?=\s)/.exec(line) ?? [];
  if (before === undefined || marks === undefined) return undefined;
  const words = withoutMarks(line.slice(before.length).trim());
  // The page has its own headings above those of a message.
  return { node: <p class={`h h${marks.length}`}><strong>{inline(words)}</strong></p>, next: at + 1 };
}

/** A heading without the marks that may close it after a space. */
function withoutMarks(words: string): string {
  let end = words.length;
  while (words[end - 1] === "#") end -= 1;
  return end === 0 || /\s/.test(words[end - 1] ?? "") ? words.slice(0, end).trimEnd() : words;
}

function rule(lines: string[], at: number): Block {
  return /^ {0,3}([-*_])( *\1){2,} *$/.test(short(lines[at])) ? { node: <hr />, next: at + 1 } : undefined;
}

function quote(lines: string[], at: number, depth: number): Block {
  if (depth >= DEPTH || !isQuote(lines[at])) return undefined;
  let to = at;
  while (to < lines.length && isQuote(lines[to])) to += 1;
  const inner = lines.slice(at, to).map((line) => line.replace(/^ {0,3}> ?/, ""));
  return { node: <blockquote>{blocks(inner, depth + 1)}</blockquote>, next: to };
}

function isQuote(line: string | undefined): boolean {
  return line !== undefined && /^ {0,3}>/.test(line);
}

const ITEM = /^( *)([-*+]|\d{1,9}[.)])( +)(.*)$/s;

function list(lines: string[], at: number, depth: number): Block {
  const first = ITEM.exec(lines[at] ?? "");
  if (first === null || depth >= DEPTH || (first[1]?.length ?? 0) > 3) return undefined;
  const isOrdered = /\d/.test(first[2] ?? "");
  const items: string[][] = [];
  let [to, width] = [at, (first[1]?.length ?? 0) + 1];
  for (; to < lines.length; to++) {
    const line = lines[to] ?? "";
    const found = ITEM.exec(line);
    const indent = line.length - line.trimStart().length;
    if (found && (found[1]?.length ?? 0) < Math.max(width, 2) && /\d/.test(found[2] ?? "") === isOrdered) {
      width = (found[1]?.length ?? 0) + (found[2]?.length ?? 0) + 1;
      items.push([found[4] ?? ""]);
    } else if (line.trim() === "") {
      const next = lines[to + 1];
      if (next === undefined || !(next.startsWith("  ") || ITEM.test(next))) break;
      items.at(-1)?.push("");
    } else if (indent >= Math.min(width, 2)) items.at(-1)?.push(line.slice(Math.min(indent, width)));
    else break;
  }
  const nodes = items.map((item) => <li>{entry(item, depth)}</li>);
  const start = Number.parseInt(first[2] ?? "1", 10);
  return { node: isOrdered ? <ol start={start}>{nodes}</ol> : <ul>{nodes}</ul>, next: to };
}

function entry(lines: string[], depth: number): ComponentChildren {
  const [, mark, words] = /^\[([ xX])\] (.*)$/s.exec(lines[0] ?? "") ?? [];
  const rest = words === undefined ? lines : [words, ...lines.slice(1)];
  const body = rest.length > 1 ? blocks(rest, depth + 1) : (special(rest, 0, depth + 1)?.node ?? inline(rest[0] ?? ""));
  return mark === undefined ? body : [mark === " " ? "☐ " : "☑ ", body];
}

function table(lines: string[], at: number): Block {
  const below = short(lines[at + 1]);
  if (!lines[at]?.includes("|") || !below.includes("|") || !cells(below).every((cell) => /^:?-+:?$/.test(cell))) return undefined;
  let to = at + 2;
  while (to < lines.length && lines[to]?.includes("|")) to += 1;
  const node = (
    <div class="scroll-x" tabIndex={0}>
      <table>
        <thead><tr>{cells(lines[at] ?? "").map((cell) => <th scope="col">{inline(cell)}</th>)}</tr></thead>
        <tbody>{lines.slice(at + 2, to).map((line) => <tr>{cells(line).map((cell) => <td>{inline(cell)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
  return { node, next: to };
}

function cells(line: string): string[] {
  return line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());
}

/** Lines up to an empty one, or one that begins another block. */
function paragraph(lines: string[], at: number): NonNullable<Block> {
  let to = at + 1;
  while (to < lines.length && lines[to]?.trim() !== "" && !/^ {0,3}(#{1,6}\s|>|`{3}|~{3}|[-*+] |\d{1,9}[.)] )/.test(lines[to] ?? "")) to += 1;
  return { node: <p>{inline(lines.slice(at, to).join("\n"))}</p>, next: to };
}
