// Folds recorded events and compares with what Rust made of them. Arguments: the SDK's entry, a file of JSON lines.
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [entry, file] = process.argv.slice(2);
const { Fold, View } = await import(pathToFileURL(entry));
const plain = (value) => JSON.parse(JSON.stringify(value));
const bytes = (text) => Buffer.byteLength(text);

/** A change as the test in Rust tells it. */
function told(change) {
  switch (change.type) {
    case "message_text":
      return { type: change.type, part: change.part, delta: change.delta, item: change.message.item.item_id, length: change.message.streamed };
    case "call_input":
      return { type: change.type, delta: change.delta, item: change.call.item, length: bytes(change.call.input) };
    case "call_output":
      return { type: change.type, delta: change.delta, item: change.call.item, length: change.call.written };
    default:
      return plain(change);
  }
}

/** The fold without what Rust leaves out when it is empty. */
function folded(fold) {
  const { titled, late, forked_from, first_prompt, ...rest } = plain(fold);
  const told = { ...(forked_from && { forked_from }), ...(first_prompt && { first_prompt }), ...(titled && { titled }) };
  return { ...rest, ...told, ...(Object.keys(late).length > 0 && { late }) };
}

let count = 0;
for await (const line of createInterface({ input: createReadStream(file) })) {
  const expected = JSON.parse(line);
  const [fold, view] = [new Fold(), new View()];
  expected.events.forEach((event, index) => {
    fold.apply(event);
    const at = `${expected.capture} #${event.sequence}`;
    assert.deepEqual(told(view.apply(event)), expected.changes[index], at);
  });
  assert.deepEqual(folded(fold), expected.fold, expected.capture);
  assert.deepEqual([fold.status, plain(view.turn)], [expected.status, expected.turn], expected.capture);
  assert.deepEqual(Object.keys(fold.pending), Object.keys(expected.fold.pending), expected.capture);
  count += 1;
}
console.log(`${count} recordings are folded alike`);
