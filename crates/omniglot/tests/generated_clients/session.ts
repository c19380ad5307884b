// A session through the types that openapi-typescript generates: it compiles only if `event.type` selects the type of
// `event.data`. Arguments: the daemon's URL and token.
import type { components } from "./api.js";

type Schemas = components["schemas"];
type UniversalEvent = Schemas["UniversalEvent"];

declare const process: { argv: string[] };
const [url, token] = process.argv.slice(2) as [string, string];

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const response = await fetch(url + path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** One line for an event; each branch reads a member that only its own type of data has. */
function line(event: UniversalEvent): string {
  switch (event.type) {
    case "item.started":
    case "item.completed":
      return event.data.item.content.map(part).join("");
    case "item.delta":
      return event.data.delta;
    case "turn.started":
      return event.data.metadata.origin;
    case "turn.ended":
      return event.data.metadata.stop_reason;
    case "permission.requested":
    case "permission.resolved":
      return event.data.metadata?.tool ?? event.data.action;
    case "question.requested":
    case "question.resolved":
      return event.data.prompt;
    case "session.updated":
      return event.data.model ?? "";
    case "session.started":
      return event.data.metadata?.agent ?? "";
    case "session.ended":
      return event.data.reason;
    case "error":
      return event.data.code ?? event.data.message;
    case "agent.unparsed":
      return event.data.location;
    default:
      return event satisfies never;
  }
}

function part(part: Schemas["ContentPart"]): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool_call":
      return part.name;
    case "tool_result":
      return part.output;
    case "file_ref":
    case "image":
      return part.path;
    case "status":
      return part.label;
    case "json":
      return JSON.stringify(part.json);
    default:
      return part satisfies never;
  }
}

const request: Schemas["CreateSessionRequest"] = { agent: "mock" };
await call<Schemas["CreateSessionResponse"]>("POST", "/v1/sessions/generated", request);
const message: Schemas["MessageRequest"] = { message: "[[permission]] [[text]]" };
await call<void>("POST", "/v1/sessions/generated/messages", message);
const reply: Schemas["PermissionReplyRequest"] = { reply: "once" };
for (let after = 0, over = false; !over; ) {
  const page = await call<Schemas["EventsResponse"]>("GET", `/v1/sessions/generated/events?offset=${after}`);
  for (const event of page.events) {
    console.log(event.type, line(event));
    if (event.type === "permission.requested")
      await call<void>("POST", `/v1/sessions/generated/permissions/${event.data.permission_id}/reply`, reply);
    over ||= event.type === "turn.ended";
    after = event.sequence;
  }
}
const detail = await call<Schemas["SessionDetail"]>("GET", "/v1/sessions/generated");
console.log("all done", detail.status, detail.pending.length, detail.sessionId);
