// The published SDK of sandbox-agent, unmodified, moved by a test: calls come as JSON lines on stdin, and what
// the SDK makes of them goes to stdout.
// Usage: node sandbox_agent.mjs PATH_OF_THE_SDK BASE_URL TOKEN
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [library, baseUrl, token] = process.argv.slice(2);
const { SandboxAgent, InMemorySessionPersistDriver } = await import(pathToFileURL(library).href);

const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const persist = new InMemorySessionPersistDriver();
const connect = () => SandboxAgent.connect({ baseUrl, token, persist });
let sdk = await connect();
const sessions = new Map();

function watch(session, permissions) {
  sessions.set(session.id, session);
  session.onEvent(({ sender, payload }) => tell({ kind: "event", session: session.id, sender, payload }));
  if (permissions) session.onPermissionRequest((request) => tell({ kind: "permission", session: session.id, request }));
  return { id: session.id, agentSessionId: session.agentSessionId };
}

// Bytes cross as `{ base64 }`, in both directions.
const bytes = (value) => (value?.base64 === undefined ? value : Buffer.from(value.base64, "base64"));
const shown = (value) =>
  value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : (value ?? null);

// A call is of the SDK, or of the session that it names.
async function run({ session, method, args = [], permissions = true }) {
  if (session) return await sessions.get(session)[method](...args);
  if (method === "reconnect") {
    // As another process would: nothing but what was persisted is left.
    await sdk.dispose();
    sdk = await connect();
    return null;
  }
  if (method === "terminal") return await terminal(...args);
  if (method === "followUntil") return await followUntil(...args);
  const value = await sdk[method](...args.map(bytes));
  return ["createSession", "resumeSession"].includes(method) ? watch(value, permissions) : value;
}

// Uses the terminal of a process until its end: each step waits for output, then sends input or a size.
function terminal(id, steps) {
  const open = sdk.connectProcessTerminal(id);
  const seen = { ready: null, output: "", exit: null, errors: [] };
  const decoder = new TextDecoder();
  return new Promise((resolve) => {
    open.onReady((frame) => (seen.ready = frame));
    open.onError((error) => seen.errors.push(error.message));
    open.onExit((frame) => (seen.exit = frame));
    open.onClose(() => resolve(seen));
    open.onData((bytes) => {
      seen.output += decoder.decode(bytes, { stream: true });
      while (steps.length > 0 && seen.output.includes(steps[0].after)) {
        const { resize, text, bytes } = steps.shift();
        if (resize) open.resize(resize);
        if (text) open.sendInput(text);
        if (bytes) open.sendInput(new Uint8Array(bytes));
      }
    });
  });
}

// Follows the log of a process until it has `wanted`.
function followUntil(id, wanted, query) {
  return new Promise(async (resolve, reject) => {
    const entries = [];
    let output = "";
    const following = await sdk
      .followProcessLogs(id, (entry) => {
        entries.push(entry);
        output += Buffer.from(entry.data, "base64").toString();
        if (output.includes(wanted)) resolve(entries);
      }, query)
      .catch(reject);
    await following?.closed;
  });
}

async function call(order) {
  try {
    tell({ kind: "result", call: order.call, value: shown(await run(order)) });
  } catch (error) {
    const { name, message, code, status, problem } = error;
    tell({ kind: "error", call: order.call, name, message, code, status, problem });
  }
}

for await (const line of createInterface({ input: process.stdin })) call(JSON.parse(line));
await sdk.dispose();
tell({ kind: "left" });
process.exit(0);
