// Plays the scenario in Chromium. Arguments: the SDK's directory, playwright's file, the browser. The first line that
// is written is the origin of the page, which the daemon must allow.
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { restart, told } from "./driver.mjs";

const [built, playwright, executablePath] = process.argv.slice(2);
const server = createServer(async ({ url }, response) => {
  const name = basename(url);
  const file = name === "scenario.mjs" ? new URL("scenario.mjs", import.meta.url) : join(built, name);
  const body = name === "" ? "<!doctype html>" : await readFile(file).catch(() => "");
  response.setHeader("content-type", name === "" ? "text/html" : "text/javascript");
  response.end(body);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${server.address().port}`;
console.log(origin);
const settings = await told();
const { chromium } = await import(playwright);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  const page = await browser.newPage();
  await page.exposeFunction("restart", restart);
  await page.goto(origin);
  const result = await page.evaluate(async (settings) => {
    const [sdk, { play }] = [await import("/index.js"), await import("/scenario.mjs")];
    return play({ sdk, ...settings, restart: window.restart });
  }, settings);
  console.log("all done:", result);
} finally {
  await browser.close();
}
process.exit(0);
