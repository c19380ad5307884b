/** One call of a tool: its subject, its output as it comes, its result, and its subagent's work below it. */
import { useState } from "preact/hooks";
import type { Call, ContentPart } from "../../../sdk/typescript/src/index.js";
import type { EntryOf } from "../model/entries.js";
import { Json, parsed } from "../text/json.js";
import { LongText } from "../text/long.js";
import { duration, plural } from "../text/numbers.js";
import { brief, visible } from "../text/visible.js";
import { Part } from "./content.js";
import { Entries } from "./entry.js";
import { near } from "./file.js";
import { Icon } from "./icons.js";
import { Output } from "./output.js";

type Result = Extract<ContentPart, { type: "tool_result" }>;

/** Kinds whose work is worth seeing without a click. */
const OPEN = new Set(["execute", "edit", "agent", "delete", "move"]);
const WORDS = { writing: "writing", ready: "ready", running: "running", completed: "done", failed: "failed" };

export function Tool({ entry }: { entry: EntryOf<"call"> }) {
  void entry.tick.value;
  const { call } = entry;
  const [chosen, setOpen] = useState<boolean | null>(null);
  const kind = call.kind ?? "other";
  const isOver = call.status === "completed" || call.status === "failed";
  const hasChildren = entry.children.length > 0;
  const hasImage = call.result?.content.some((part) => part.type === "image") ?? false;
  const isOpen = chosen ?? (OPEN.has(kind) || call.status === "failed" || call.status === "running" || hasChildren || hasImage);
  const result = call.result?.content.find((part): part is Result => part.type === "tool_result");
  return (
    <article
      class="tool" data-testid="tool" data-item={call.item} data-kind={kind} data-status={call.status}
      aria-label={`${kind} ${brief(subject(call))}`}
    >
      <button type="button" class="tool-head" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <Icon name={kind} />
        <span class="tool-name">{brief(subject(call))}</span>
        {hasChildren && <span class="tag">{plural(entry.children.length, "step")}</span>}
        <Exit result={result} />
        <span class={`chip ${call.status}`}>{WORDS[call.status]}</span>
      </button>
      {isOpen && (
        <div class="tool-body">
          <Subject call={call} />
          {!isOver && call.arguments === "" && call.input !== "" && <Output text={call.input} isRunning label="Arguments" />}
          {hasChildren && <div class="children" data-testid="children" role="group" aria-label="Subagent"><Entries entries={entry.children} tick={entry.tick} /></div>}
          {!isOver && <Output text={call.output} isRunning />}
          {result && <Output text={result.output} isRunning={false} />}
          {result?.stderr && <Output text={result.stderr} isRunning={false} label="stderr" />}
          {call.result?.content.filter((part) => part.type !== "tool_result").map((part) => <Part part={part} />)}
          {call.arguments !== "" && call.arguments !== "{}" && <Arguments text={call.arguments} name={call.name} />}
        </div>
      )}
    </article>
  );
}

function Exit({ result }: { result: Result | undefined }) {
  if (result === undefined) return null;
  return (
    <>
      {result.duration_ms != null && <span class="dim small">{duration(result.duration_ms)}</span>}
      {result.exit_code != null && <span class={`chip ${result.exit_code === 0 ? "completed" : "failed"}`}>exit {result.exit_code}</span>}
    </>
  );
}

/** So many paths of a call are listed; its arguments have all. */
const PATHS = 50;

/** What the call is about, in one line. */
function subject({ title, name, subject, kind }: Call): string {
  const path = subject.paths?.[0]?.path;
  return title ?? subject.command ?? (path ? `${name || kind} ${path}` : (subject.query ?? subject.url ?? (name || "a tool")));
}

function Subject({ call }: { call: Call }) {
  const { command, cwd, paths, query, url, server, description } = call.subject;
  const rows: [string, string | null | undefined][] = [
    ["in", cwd], ["query", query], ["url", url], ["server", server],
  ];
  // The head of the card has one short line of it.
  const isShown = (text: string) => text === brief(subject(call), 80) && !text.includes("\n");
  const whole = subject(call);
  return (
    <>
      {!isShown(whole) && whole !== command && whole !== description && <p><LongText text={whole} /></p>}
      {description && !isShown(description) && <p class="dim"><LongText text={description} /></p>}
      {command && !isShown(command) && <pre class="command" tabIndex={0}>$ <LongText text={command} limit={12_000} /></pre>}
      {(paths?.length ?? 0) > 0 && !call.result?.content.some((part) => part.type === "file_ref") && (
        <p class="paths">{paths?.slice(0, PATHS).map(({ path, line }) => <span class="path" title={brief(path)}><LongText text={near(path)} />{line ? `:${line}` : ""} </span>)}{(paths?.length ?? 0) > PATHS && `and ${(paths?.length ?? 0) - PATHS} more`}</p>
      )}
      <dl class="facts">
        {rows.map(([name, value]) => value ? <div key={name}><dt>{name}</dt><dd><LongText text={value} /></dd></div> : null)}
      </dl>
    </>
  );
}

function Arguments({ text, name }: { text: string; name: string }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="arguments" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Arguments{name && <> of <code>{visible(name)}</code></>}</summary>
      {isOpen && <Json value={parsed(text)} />}
    </details>
  );
}
