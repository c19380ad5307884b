/** Short names for the types that `generated.ts` has from the daemon's description. */
import type { components } from "./generated.js";

export type Schemas = components["schemas"];

/** One event of a session; `type` selects the type of `data`. */
export type Event = Schemas["UniversalEvent"];
export type EventType = Event["type"];
/** The event of one type: `EventOf<"item.delta">`. */
export type EventOf<T extends EventType> = Extract<Event, { type: T }>;

export type Item = Schemas["UniversalItem"];
export type ContentPart = Schemas["ContentPart"];
export type SessionState = Schemas["SessionState"];
export type SessionStatus = Schemas["SessionStatus"];
export type SessionInfo = Schemas["SessionInfo"];
export type SessionDetail = Schemas["SessionDetail"];
export type Pending = Schemas["PendingRequest"];
export type PermissionData = Schemas["PermissionEventData"];
export type QuestionData = Schemas["QuestionEventData"];
export type PermissionReply = Schemas["PermissionReply"];
export type StopReason = Schemas["StopReason"];
export type Usage = Schemas["Usage"];
export type AgentInfo = Schemas["AgentInfo"];
export type ProblemDetails = Schemas["ProblemDetails"];
