// A small MCP server over stdio for tests: one tool, `add`, and nothing else.
import { createInterface } from "node:readline";

const tool = {
  name: "add",
  description: "Adds two numbers.",
  inputSchema: {
    type: "object",
    properties: { a: { type: "number" }, b: { type: "number" } },
    required: ["a", "b"],
  },
};

const methods = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "tiny", version: "1.0.0" },
  }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [tool] }),
  "tools/call": ({ arguments: { a, b } }) => ({
    content: [{ type: "text", text: `sum ${a + b}` }],
  }),
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const serve = methods[method];
  const answer = serve
    ? { result: serve(params ?? {}) }
    : { error: { code: -32601, message: `no method ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
}
