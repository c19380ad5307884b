/** The pieces of a transcript as the page shows them. */
import { type Signal, signal } from "@preact/signals";
import type { Call, Item, Message, Pending, Schemas } from "../../../sdk/typescript/src/index.js";

/** What every piece has: its key, where it stands in the log, and a tick that says that it has changed. */
interface Base {
  key: string;
  sequence: number;
  time: string;
  tick: Signal<number>;
  children: Entry[];
}

export type Resolution = Schemas["PermissionEventData"] | Schemas["QuestionEventData"];

export type Entry = Base &
  (
    | { type: "message"; message: Message; isOver: boolean; by: string | null }
    | { type: "call"; call: Call }
    | { type: "status"; item: Item }
    | { type: "unknown"; value: unknown }
    | { type: "request"; request: Pending; resolution: Resolution | null }
    | { type: "error"; error: Schemas["ErrorData"] }
    | { type: "unparsed"; data: Schemas["AgentUnparsedData"] }
    | { type: "note"; text: string; detail: string | null }
  );

export type EntryOf<T extends Entry["type"]> = Extract<Entry, { type: T }>;

export interface TurnBlock {
  key: string;
  /** The turn; absent for what happened between turns. */
  id: string | null;
  number: number;
  sequence: number;
  time: string;
  by: string | null;
  origin: string;
  title: string;
  entries: Entry[];
  end: Schemas["TurnEndedData"]["metadata"] | null;
  isCopy: boolean;
  tick: Signal<number>;
}

type Place = { key: string; sequence: number; time: string };

export function base({ key, sequence, time }: Place): Base {
  return { key, sequence, time, tick: signal(0), children: [] };
}
