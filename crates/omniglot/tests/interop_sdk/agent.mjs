// A small agent made with the protocol's own TypeScript library: what it says was not written by us.
// Usage: node agent.mjs PATH_OF_THE_LIBRARY. The first word of a prompt says what to do.
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const acp = await import(pathToFileURL(process.argv[2]).href);
const { agent: agentMethods, client: clientMethods } = acp.methods;
const sessions = new Map();

function say(client, sessionId, text) {
  const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text } };
  return client.notify(clientMethods.session.update, { sessionId, update });
}

function tell(client, sessionId, update) {
  return client.notify(clientMethods.session.update, { sessionId, update });
}

const words = {
  async text(client, sessionId) {
    await say(client, sessionId, "Hello ");
    await say(client, sessionId, "from the library.");
  },

  async permission(client, sessionId) {
    const toolCallId = "call-1";
    await tell(client, sessionId, {
      sessionUpdate: "tool_call", toolCallId, title: "Count to three", kind: "other", status: "pending",
      rawInput: { to: 3 },
    });
    const { outcome } = await client.request(clientMethods.session.requestPermission, {
      sessionId,
      toolCall: { toolCallId },
      options: [
        { optionId: "yes", name: "Yes", kind: "allow_once" },
        { optionId: "no", name: "No", kind: "reject_once" },
      ],
    });
    const allowed = outcome.outcome === "selected" && outcome.optionId === "yes";
    await tell(client, sessionId, {
      sessionUpdate: "tool_call_update", toolCallId, status: allowed ? "completed" : "failed",
      content: [{ type: "content", content: { type: "text", text: allowed ? "1 2 3" : "refused" } }],
    });
    await say(client, sessionId, allowed ? "Counted." : "Not counted.");
  },

  async files(client, sessionId, { cwd }) {
    await client.request(clientMethods.fs.writeTextFile, {
      sessionId, path: join(cwd, "new.txt"), content: "one\ntwo\nthree\n",
    });
    const { content } = await client.request(clientMethods.fs.readTextFile, {
      sessionId, path: join(cwd, "new.txt"), line: 2, limit: 1,
    });
    await say(client, sessionId, `Line two is ${JSON.stringify(content)}. `);
    try {
      await client.request(clientMethods.fs.readTextFile, { sessionId, path: "/etc/hostname" });
      await say(client, sessionId, "I got out!");
    } catch (error) {
      await say(client, sessionId, `Refused with ${error.code}.`);
    }
  },

  async terminal(client, sessionId) {
    const terminal = await client.createTerminal({
      sessionId, command: "sh", args: ["-c", "echo out; echo err >&2; exit 4"],
    });
    const toolCallId = "call-2";
    await tell(client, sessionId, {
      sessionUpdate: "tool_call", toolCallId, title: "sh", kind: "execute", status: "in_progress",
      content: [{ type: "terminal", terminalId: terminal.id }],
    });
    const { exitCode } = await terminal.waitForExit();
    const { output } = await terminal.currentOutput();
    await terminal.release();
    await tell(client, sessionId, { sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
    await say(client, sessionId, `${JSON.stringify(output)} and ${exitCode}`);
  },

  async wait(client, sessionId, session) {
    await say(client, sessionId, "Waiting.");
    await new Promise((resolve) => { session.stop = resolve; });
    return "cancelled";
  },
};

acp
  .agent({ name: "interop" })
  .onRequest(agentMethods.initialize, () => ({
    protocolVersion: acp.PROTOCOL_VERSION,
    agentCapabilities: { loadSession: false },
    agentInfo: { name: "interop", version: "1.0.0" },
  }))
  .onRequest(agentMethods.session.new, ({ params }) => {
    const sessionId = `session-${sessions.size + 1}`;
    sessions.set(sessionId, { cwd: params.cwd });
    return { sessionId };
  })
  .onRequest(agentMethods.session.prompt, async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const word = prompt[0].text.split(" ")[0];
    const stopReason = await words[word](client, sessionId, sessions.get(sessionId));
    return { stopReason: stopReason ?? "end_turn" };
  })
  .onNotification(agentMethods.session.cancel, ({ params }) => sessions.get(params.sessionId)?.stop?.())
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
