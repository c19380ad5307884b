// An MCP server over stdio for tests: its one tool, `choose`, asks the user before it answers.
import { createInterface } from "node:readline";

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const form = {
  type: "object",
  properties: { animal: { type: "string", enum: ["walrus", "seal"] } },
  required: ["animal"],
};
const tool = { name: "choose", description: "Lets the user choose.", inputSchema: { type: "object", properties: {} } };
const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "asker", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool] }),
};

let waiting;
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params, result } = JSON.parse(line);
  if (method === "tools/call") {
    waiting = id;
    send({ id: "form", method: "elicitation/create", params: { message: "Which animal?", requestedSchema: form } });
  } else if (id === "form") {
    send({ id: waiting, result: { content: [{ type: "text", text: `chosen: ${result?.content?.animal}` }] } });
  } else if (method && id !== undefined) {
    const serve = methods[method];
    send(serve ? { id, result: serve(params ?? {}) } : { id, error: { code: -32601, message: `no ${method}` } });
  }
}
