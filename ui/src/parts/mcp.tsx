/** The MCP servers of a new session: a name with a command line or a URL. */
import type { Schemas } from "../../../sdk/typescript/src/index.js";

export interface McpServer {
  name: string;
  target: string;
}

/** As the daemon takes them; a target that is a URL is a remote server. */
export function mcpOf(servers: McpServer[]): Record<string, Schemas["McpServerConfig"]> {
  const named = servers.filter(({ name, target }) => name.trim() !== "" && target.trim() !== "");
  return Object.fromEntries(named.map(({ name, target }) => [name.trim(), configOf(target.trim())]));
}

function configOf(target: string): Schemas["McpServerConfig"] {
  if (/^https?:\/\//.test(target)) return { type: "remote", url: target };
  const words = (target.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^(["'])(.*)\1$/, "$2"));
  return { type: "local", command: words };
}

export function McpServers({ servers, onChange }: { servers: McpServer[]; onChange: (servers: McpServer[]) => void }) {
  const set = (at: number, part: Partial<McpServer>) => onChange(servers.map((one, index) => (index === at ? { ...one, ...part } : one)));
  return (
    <div class="mcp" role="group" aria-label="MCP servers">
      {servers.map((server, at) => (
        <div class="composer-row" key={at}>
          <input aria-label="Name of the MCP server" placeholder="name" value={server.name} onInput={(event) => set(at, { name: event.currentTarget.value })} />
          <input aria-label="Command or URL" class="grow" placeholder="npx -y some-server, or https://…" value={server.target} onInput={(event) => set(at, { target: event.currentTarget.value })} />
          <button type="button" class="quiet" aria-label={`Remove ${server.name || "server"}`} onClick={() => onChange(servers.filter((one) => one !== server))}>×</button>
        </div>
      ))}
      <button type="button" class="quiet" onClick={() => onChange([...servers, { name: "", target: "" }])}>+ MCP server</button>
    </div>
  );
}
