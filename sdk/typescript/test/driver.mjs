// The lines between a test in Rust and a scenario: we write `restart`, and are told the new address.
import { createInterface } from "node:readline";

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Reads the next line of the test. */
export async function told() {
  return JSON.parse((await lines.next()).value);
}

export async function restart() {
  console.log("restart");
  return (await told()).direct;
}
