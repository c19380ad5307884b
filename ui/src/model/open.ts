/** The session that is open on the page, with everything that its log adds up to. */
import { signal } from "@preact/signals";
import { type Cursor, type Event, OmniglotError, type SessionDetail } from "../../../sdk/typescript/src/index.js";
import { session } from "../daemon/api.js";
import { noteResolved } from "./answers.js";
import { Transcript } from "./transcript.js";

export class OpenSession {
  transcript = new Transcript();
  cursor: Cursor | undefined;
  /** Changes when the transcript is another one: the log was replaced. */
  readonly generation = signal(0);
  readonly info = signal<SessionDetail | null>(null);
  /** Why the session cannot be shown. */
  readonly problem = signal<string | null>(null);
  /** Whether everything that had happened is there. */
  readonly isWhole = signal(false);
  /** Somebody has sent a message and wants to see the end. */
  readonly endWish = signal(0);
  readonly watchers = new Set<(event: Event) => void>();

  constructor(readonly id: string) {}

  async load(): Promise<void> {
    try {
      this.info.value = await session(this.id).info();
    } catch (error) {
      if (error instanceof OmniglotError && error.status === 404) this.problem.value = "There is no such session.";
      else throw error;
    }
  }

  apply(event: Event): void {
    this.transcript.apply(event);
    noteResolved(event, {});
    for (const watch of this.watchers) watch(event);
  }

  /** The log is another one: what is known of the old one is forgotten. */
  reset(): void {
    this.transcript = new Transcript();
    this.cursor = undefined;
    this.problem.value = null;
    this.isWhole.value = false;
    this.generation.value += 1;
    void this.load().catch(() => undefined);
  }
}

export const open = signal<OpenSession | null>(null);
