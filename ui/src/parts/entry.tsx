/** One piece of a transcript, whatever it is. */
import type { ReadonlySignal } from "@preact/signals";
import { useState } from "preact/hooks";
import type { Entry, EntryOf } from "../model/entries.js";
import { outcome, subjectOf } from "../model/answers.js";
import { open } from "../model/open.js";
import { address } from "../route.js";
import { Json } from "../text/json.js";
import { LongText } from "../text/long.js";
import { count, total } from "../text/numbers.js";
import { visible } from "../text/visible.js";
import { Part } from "./content.js";
import { MessageView } from "./message.js";
import { RequestCard } from "./request.js";
import { Tool } from "./tool.js";

/** So many pieces of one turn or subagent are in the page at once. */
const SHOWN = 150;

/** `tick` changes when there are more: the list itself stays the same one. */
export function Entries({ entries, tick }: { entries: Entry[]; tick: ReadonlySignal<number> }) {
  void tick.value;
  const [more, setMore] = useState(0);
  const hidden = Math.max(0, entries.length - SHOWN - more);
  return (
    <>
      {hidden > 0 && (
        <button type="button" class="more" onClick={() => setMore(more + SHOWN)}>Show more ({hidden.toLocaleString("en-US")} earlier pieces)</button>
      )}
      {entries.slice(hidden).map((entry) => <EntryView key={entry.key} entry={entry} />)}
    </>
  );
}

function EntryView({ entry }: { entry: Entry }) {
  switch (entry.type) {
    case "message":
      return <MessageView entry={entry} />;
    case "call":
      return <Tool entry={entry} />;
    case "status":
      return <Status entry={entry} />;
    case "request":
      return <Asked entry={entry} />;
    case "error":
      return (
        <div class="error-box" role="group" aria-label="Error">
          <strong>{entry.error.code ?? "error"}</strong> <LongText text={entry.error.message} />
          {entry.error.details != null && <details><summary>Details</summary><Json value={entry.error.details} /></details>}
        </div>
      );
    case "unparsed":
      return (
        <p class="status" data-testid="status">
          Not understood ({visible(entry.data.location)}): <LongText text={entry.data.error} limit={500} /> <Sequence sequence={entry.sequence} />
        </p>
      );
    case "note":
      return (
        <div class="status" data-testid="status">
          <LongText text={entry.text} />
          {entry.detail && <details><summary>Details</summary><pre class="output" tabIndex={0}><LongText text={entry.detail} limit={20_000} /></pre></details>}
        </div>
      );
    case "unknown":
      return <div class="unknown" data-testid="unknown"><Json value={entry.value} open={3} /></div>;
  }
}

function Sequence({ sequence }: { sequence: number }) {
  const id = open.value?.id ?? "";
  return <a href={address({ page: "session", id, tab: "events", sequence })}>event {sequence}</a>;
}

function Status({ entry }: { entry: EntryOf<"status"> }) {
  const [first, ...rest] = entry.item.content;
  if (first?.type !== "status") return <div data-testid="unknown"><Json value={entry.item} /></div>;
  const what = first.label.split(".").at(-1) ?? first.label;
  const isWarning = ["warning", "memory_lost", "extension_error", "late", "retry"].includes(what);
  return (
    <div class={`status ${isWarning ? "warning" : ""}`} data-testid="status" data-label={first.label}>
      <span class="tag">{visible(what.replaceAll("_", " "))}</span> <LongText text={first.detail ?? ""} limit={10_000} />
      {first.usage && <span class="dim"> {count(total(first.usage))} tokens</span>}
      {rest.map((part) => <Part part={part} />)}
    </div>
  );
}

/** A permission or question where it was asked. */
function Asked({ entry }: { entry: EntryOf<"request"> }) {
  void entry.tick.value;
  const session = open.value?.id ?? "";
  if (entry.resolution === null) return <RequestCard session={session} request={entry.request} />;
  const isNo = entry.resolution.status === "reject" || entry.resolution.status === "rejected";
  return (
    <div class={`status asked ${isNo ? "no" : "yes"}`} data-testid="status">
      <LongText text={subjectOf(entry.request)} />: <span class="dim"><LongText text={outcome(entry.resolution)} /></span>
    </div>
  );
}
