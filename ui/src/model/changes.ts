/** The changes of files that a session has made, as its results tell them. */
import { signal } from "@preact/signals";
import type { Event, Schemas } from "../../../sdk/typescript/src/index.js";
import { redraw } from "./frames.js";

type FileRef = Extract<Schemas["ContentPart"], { type: "file_ref" }>;

export interface Change {
  key: string;
  path: string;
  action: string;
  diff: string | null;
  blob: string | null;
  turn: string | null;
  number: number;
  sequence: number;
}

export class Changes {
  readonly all: Change[] = [];
  readonly tick = signal(0);

  add(file: FileRef, turn: string | null, number: number, { sequence }: Event): void {
    const key = `${sequence}-${this.all.length}`;
    const { path, action, diff, diff_blob } = file;
    this.all.push({ key, path, action, diff: diff ?? null, blob: diff_blob ?? null, turn, number, sequence });
    redraw(this.tick);
  }
}

/** Groups changes by a name of theirs, in the order of the first of each group. */
export function grouped<K>(changes: Change[], name: (change: Change) => K): Map<K, Change[]> {
  const groups = new Map<K, Change[]>();
  for (const change of changes) {
    const group = groups.get(name(change));
    if (group) group.push(change);
    else groups.set(name(change), [change]);
  }
  return groups;
}
