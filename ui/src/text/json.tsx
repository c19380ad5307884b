/** A JSON value as a tree that opens on demand. */
import { useState } from "preact/hooks";
import { memo } from "./memo.js";
import { Long } from "./long.js";
import { plain, visible } from "./visible.js";

/** So many members of a list or object are shown at once. */
const PAGE = 100;
const SHOWN = 2_000;

interface NodeProps {
  name?: string;
  value: unknown;
  depth: number;
  /** Levels that are open from the beginning. */
  open: number;
}

export const Json = memo(({ value, open = 2 }: { value: unknown; open?: number }) => (
  <div class="json" role="group" aria-label="JSON">
    <Node value={value} depth={0} open={open} />
  </div>
));

function Node({ name, value, depth, open }: NodeProps) {
  const label = name === undefined ? null : <span class="key">{visible(name)}: </span>;
  if (typeof value !== "object" || value === null) return <div class="leaf">{label}<Leaf value={value} /></div>;
  return <Branch label={label} value={value} depth={depth} open={open} />;
}

function Branch({ label, value, depth, open }: Omit<NodeProps, "name"> & { label: unknown; value: object }) {
  const [isOpen, setOpen] = useState(depth < open);
  const [shown, setShown] = useState(PAGE);
  const entries = Object.entries(value);
  const [first, last] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (entries.length === 0) return <div class="leaf">{label as never}{first}{last}</div>;
  return (
    <details open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label as never}{first}{isOpen ? "" : `… ${last} ${entries.length}`}</summary>
      {isOpen && entries.slice(0, shown).map(([key, inner]) => <Node key={key} name={key} value={inner} depth={depth + 1} open={open} />)}
      {isOpen && entries.length > shown && (
        <button type="button" class="more" onClick={() => setShown(shown + PAGE * 10)}>Show more ({entries.length - shown} left)</button>
      )}
      {isOpen && <div class="close">{last}</div>}
    </details>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value !== "string") return <span class={typeof value}>{String(value)}</span>;
  return (
    <span class="string">
      "<Long text={value} limit={SHOWN}>{(text) => visible(JSON.stringify(text).slice(1, -1))}</Long>"
    </span>
  );
}

/** JSON text as a value; what is no JSON stays a string. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function oneLine(value: unknown): string {
  return plain(JSON.stringify(value)?.slice(0, 300) ?? "");
}
