// A registry of npm on loopback with the tarballs of the command line. It prints its port.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const packages = new Map();
for (const file of process.argv.slice(2)) {
  const manifest = JSON.parse(execFileSync("tar", ["-xzOf", file, "package/package.json"], { encoding: "utf8" }));
  packages.set(manifest.name, { manifest, bytes: readFileSync(file) });
}

const server = createServer((request, response) => {
  const path = decodeURIComponent(request.url.slice(1));
  const found = packages.get(path.replace(/\.tgz$/, ""));
  if (found === undefined) {
    response.writeHead(404, { "content-type": "application/json" }).end('{"error":"not found"}');
  } else if (path.endsWith(".tgz")) {
    response.end(found.bytes);
  } else {
    const { name, version } = found.manifest;
    const integrity = `sha512-${createHash("sha512").update(found.bytes).digest("base64")}`;
    const tarball = `http://127.0.0.1:${server.address().port}/${name}.tgz`;
    const versions = { [version]: { ...found.manifest, dist: { tarball, integrity } } };
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ name, "dist-tags": { latest: version }, versions }));
  }
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
