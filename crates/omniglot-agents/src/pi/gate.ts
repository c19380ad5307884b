// Asks Omniglot before every tool that may change something, and registers the MCP servers of the session. Pi runs
// what is not blocked here.
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

const HARMLESS = new Set(["read", "grep", "find", "ls"]);
const GATE = "omniglot-gate";
const LARGEST = 1024 * 1024;

// The content of a file before a write: a string, null for a file that does not exist, undefined where it is unknown.
function contentBefore(path: string, cwd: string): string | null | undefined {
  const file = isAbsolute(path) ? path : join(cwd, path);
  try {
    const found = statSync(file);
    if (!found.isFile() || found.size > LARGEST) return undefined;
    return readFileSync(file, "utf8");
  } catch (error: any) {
    return error?.code === "ENOENT" ? null : undefined;
  }
}

// Pi prefers a server of its own configuration to ours of the same name, and takes - and _ for the same.
const sameName = (name: string) => name.replace(/-/g, "_");

function serversOf(file: string): string[] {
  try {
    return Object.keys(JSON.parse(readFileSync(file, "utf8")).mcpServers ?? {}).map(sameName);
  } catch {
    return [];
  }
}

async function registerServers(pi: any, ctx: any) {
  if (typeof pi.registerMcpServer !== "function") return ctx.ui.setStatus(GATE, JSON.stringify({ unsupported: true }));
  const servers = JSON.parse((await ctx.ui.input(GATE + "-servers")) ?? "{}");
  const directory = (process.env.PI_CODING_AGENT_DIR || "~/.pi/agent").replace(/^~(?=\/|$)/, homedir());
  const project = ctx.isProjectTrusted?.() ? serversOf(join(ctx.cwd, ".pi", "mcp.json")) : [];
  const own = new Set([...serversOf(join(directory, "mcp.json")), ...project]);
  const refused: string[] = [];
  for (const [name, config] of Object.entries(servers)) {
    try {
      if (own.has(sameName(name))) throw new Error("mcp.json of Pi has a server of this name; give it another one");
      pi.registerMcpServer(name, config);
    } catch (error: any) {
      refused.push(`the MCP server ${name}: ${error?.message ?? error}`);
    }
  }
  ctx.ui.setStatus(GATE, JSON.stringify({ servers: refused }));
}

export default function (pi: any) {
  pi.on("session_start", async (_event: any, ctx: any) => {
    ctx.ui.setStatus(GATE, "ready");
    // Not awaited: Pi reads no answer before this handler has returned. It fails when another session of Pi's takes the
    // place of this one, which asks again; an error that nobody catches would end Pi.
    if (process.env.PI_OMNIGLOT_MCP) registerServers(pi, ctx).catch(() => undefined);
  });

  pi.on("tool_call", async (event: any, ctx: any) => {
    const { toolCallId, toolName, input } = event;
    if (HARMLESS.has(toolName)) return undefined;
    if (toolName === "write" && typeof input?.path === "string") {
      const before = contentBefore(input.path, ctx.cwd ?? process.cwd());
      if (before !== undefined) ctx.ui.setStatus(GATE, JSON.stringify({ toolCallId, before }));
    }
    const answer = await ctx.ui.input(GATE + " " + JSON.stringify({ toolCallId, toolName }));
    if (answer === "allow") return undefined;
    return { block: true, reason: answer === undefined ? "Nobody allowed this call." : String(answer) };
  });
}
