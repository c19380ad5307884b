// Reads the streams of a daemon whose session `damaged` has an event that cannot be read. Argument: the SDK's entry.
import assert from "node:assert/strict";
import { pathToFileURL } from "node:url";

const { DamagedError, Omniglot, OmniglotError } = await import(pathToFileURL(process.argv[2]));
const client = new Omniglot({ url: process.env.OMNIGLOT_URL, token: process.env.OMNIGLOT_TOKEN });
const session = client.sessions.open("damaged");

/** Reads to the end; returns the places of the events, and what the loop throws. */
async function read(stream, places = []) {
  try {
    for await (const { session_id, sequence } of stream) places.push(`${session_id} ${sequence}`);
  } catch (error) {
    return { error, places };
  }
}

/** Reads what the stream of all sessions has now. */
async function readAll(options) {
  const stop = new AbortController();
  const stream = client.events({ ...options, deltas: true, signal: stop.signal, onCaughtUp: () => stop.abort() });
  return (await read(stream)).places;
}

for (const options of [{}, { after: 2 }, { types: ["session.started", "turn.ended"] }]) {
  const { error } = await read(session.events(options));
  assert(error instanceof OmniglotError && error.status === 500 && /event 5 .*damaged/.test(error.message), String(error));
}
const { places } = await read(session.events());
assert.deepEqual(places, [1, 2, 3, 4].map((sequence) => `damaged ${sequence}`));
await assert.rejects(session.sync(), OmniglotError);
await assert.rejects(session.prompt("[[text:1]]"), OmniglotError);

const stream = client.events({ after: 0, deltas: true });
const all = await read(stream);
assert(all.error instanceof DamagedError, String(all.error));
assert.deepEqual(all.error.damage, { session_id: "damaged", sequence: 5 });
const damages = [];
const passed = await readAll({ after: 0, onDamaged: (damage) => damages.push(damage) });
assert.deepEqual(damages, [all.error.damage]);
assert.deepEqual(passed, [...all.places, ...(await readAll({ after: stream.cursor }))], "it goes on after the damage");
assert(passed.includes("damaged 4") && !passed.includes("damaged 5") && passed.includes("whole 5"), passed.join());
await session.delete();
console.log("all done");
