// A client made with the protocol's own TypeScript library, moved by a test: calls come as JSON lines on
// stdin, and what the library makes of the agent's messages goes to stdout.
// Usage: node acp_sdk.mjs PATH_OF_THE_LIBRARY COMMAND [ARGUMENT...]
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const [library, command, ...args] = process.argv.slice(2);
const acp = await import(pathToFileURL(library).href);
const agent = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });

const tell = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);
const asked = new Map();

function ask(method, params) {
  const number = asked.size;
  const answer = new Promise((resolve, reject) => asked.set(number, { resolve, reject }));
  tell({ kind: "ask", ask: number, method, params });
  return answer;
}

const app = acp.client({ name: "test" });
app.onNotification(acp.methods.client.session.update, ({ params }) => tell({ kind: "update", params }));
const { session, fs, terminal, elicitation } = acp.methods.client;
const duties = [session.requestPermission, elicitation.create, ...Object.values(fs), ...Object.values(terminal)];
for (const method of duties) {
  app.onRequest(method, ({ params }) => ask(method, params));
}

const connection = app.connect(acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)));

async function call({ call: number, method, params }) {
  try {
    tell({ kind: "result", call: number, value: await connection.agent.request(method, params) });
  } catch (error) {
    tell({ kind: "error", call: number, code: error.code, message: error.message, data: error.data });
  }
}

function answer({ answer: number, value, error }) {
  const { resolve, reject } = asked.get(number);
  if (error) reject(new acp.RequestError(error.code, error.message));
  else resolve(value);
}

const left = new Promise((resolve) => agent.on("exit", resolve));
for await (const line of createInterface({ input: process.stdin })) {
  const order = JSON.parse(line);
  if ("call" in order) call(order);
  else if ("notify" in order) await connection.agent.notify(order.notify, order.params);
  else answer(order);
}
agent.stdin.end();
tell({ kind: "left", code: await left });
process.exit(0);
