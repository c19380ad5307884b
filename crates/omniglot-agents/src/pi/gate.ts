// Asks Omniglot before every tool that may change something. Pi runs what is not blocked here.
import { readFileSync, statSync } from "node:fs";
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

export default function (pi: any) {
  pi.on("session_start", async (_event: any, ctx: any) => {
    ctx.ui.setStatus(GATE, "ready");
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
