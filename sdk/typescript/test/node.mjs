// Plays the scenario in Node. Argument: the SDK's entry. The test tells addresses and token after the first line.
import { pathToFileURL } from "node:url";
import { restart, told } from "./driver.mjs";
import { play } from "./scenario.mjs";

console.log("ready");
const sdk = await import(pathToFileURL(process.argv[2]));
try {
  console.log("all done:", await play({ sdk, ...(await told()), restart }));
  process.exit(0);
} catch (error) {
  console.error(error);
  process.exit(1);
}
