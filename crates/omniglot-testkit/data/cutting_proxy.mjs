// Stands between a client and an OpenCode server that it starts: `node cutting_proxy.mjs PROGRAM … --port N`.
// As long as the file `cut` is in HOME, event streams are cut and none is opened; as long as the file `deny` is
// there, replies to requests are answered with 500; everything else passes.
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { connect, createServer } from "node:net";

const line = process.argv.slice(2);
const at = line.indexOf("--port") + 1;
const port = Number(line[at]);
const isCut = () => existsSync(`${process.env.HOME}/cut`);
const isDenied = () => existsSync(`${process.env.HOME}/deny`);
const denial = "HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const streams = new Set();

const free = createServer().listen(0, "127.0.0.1", () => {
  const inner = free.address().port;
  free.close(() => start(inner));
});

function start(inner) {
  line[at] = String(inner);
  const child = spawn(line[0], line.slice(1), { stdio: ["ignore", "pipe", "inherit"] });
  child.on("exit", () => process.exit(1));
  process.on("SIGTERM", () => child.kill("SIGTERM"));
  let said = "";
  child.stdout.on("data", (bytes) => {
    said += bytes;
    if (said.includes("listening on")) listen(inner);
  });
}

let listening = false;
function listen(inner) {
  if (listening) return;
  listening = true;
  createServer((client) => pass(client, inner)).listen(port, "127.0.0.1", () => {
    console.log(`opencode server listening on http://127.0.0.1:${port}`);
  });
  setInterval(() => isCut() && streams.forEach((stream) => stream.destroy()), 5);
}

function pass(client, inner) {
  const server = connect(inner, "127.0.0.1");
  const end = () => (client.destroy(), server.destroy(), streams.delete(client));
  let denied = false;
  client.on("data", (bytes) => {
    const text = bytes.toString("latin1");
    if (denied) return;
    if (isDenied() && /^POST \/(permission|question)\//.test(text)) {
      denied = true;
      return client.end(denial);
    }
    if (text.startsWith("GET /event")) {
      if (isCut()) return end();
      streams.add(client);
    }
    server.write(bytes);
  });
  server.on("data", (bytes) => client.write(bytes));
  for (const socket of [client, server]) socket.on("error", end).on("close", end);
}
