// A whole session over a network that cuts every connection at random points, in Node and in browsers. It throws
// unless everything is told exactly once.

/**
 * `sdk`: the module; `proxied`: the address that is cut; `direct`: one that is not; `restart`: kills the daemon and
 * starts it again, and returns its new direct address.
 */
export async function play({ sdk, proxied, direct, token, restart }) {
  const { Omniglot, OmniglotError } = sdk;
  const client = new Omniglot({ url: proxied, token, silenceMs: 1_000, timeoutMs: 3_000 });
  const session = await client.sessions.create({ agent: "mock", title: "Cut", labels: { test: "sdk", of: "one, two" } });
  const stop = new AbortController();
  const connections = [];
  const [onCaughtUp, onCut] = ["caught up", "cut"].map((what) => () => connections.push(what));
  const stream = session.events({ signal: stop.signal, onCaughtUp, onCut });
  const read = collect(stream);
  const everything = collect(client.events({ after: 0, deltas: true, labels: { test: "sdk", of: "one, two" }, signal: stop.signal }));

  for (let turn = 0; turn < 3; turn++) {
    const answer = await session.prompt("[[text:60]]");
    equal(answer.text.trim().split(/\s+/).length, 60, "every word once");
    equal(answer.stopReason, "end_turn");
  }
  await answersRequests(session);

  const said = until(session, ({ type, data }) => type === "item.completed" && data.item.role === "assistant");
  const ended = until(session, ({ type }) => type === "turn.ended");
  equal((await session.send("[[reasoning]] [[silence]]")).delivery, "started");
  await said;
  direct = await restart();
  equal((await ended).data.metadata.stop_reason, "error", "a restart ends the turn");
  equal((await session.prompt("[[text:5]]")).stopReason, "end_turn", "the session goes on after a restart");

  const started = until(session, ({ type }) => type === "turn.started");
  const cancelled = until(session, ({ type }) => type === "turn.ended");
  await session.send("[[silence]]");
  await started;
  await session.cancel();
  equal((await cancelled).data.metadata.stop_reason, "cancelled");

  const whole = await history(direct, token, session.id);
  await read.upTo(whole.length);
  equal(JSON.stringify(read.events), JSON.stringify(whole), "the stream is the log");
  equal(connections.includes("cut"), true, "a cut is told");
  equal(connections.join().includes("caught up,caught up"), false, "each connection catches up once");
  await everything.upTo(whole.length);
  equal(JSON.stringify(everything.events), JSON.stringify(whole), "the stream of all sessions has it, too");
  const info = await session.info();
  equal(sorted(session.state), sorted(info.state), "the state is the daemon's");
  equal([session.status, session.view.turn, session.pending.length].join(), "idle,,0");
  equal(info.title, "Cut");

  const middle = whole[whole.length >> 1].sequence;
  const later = collect(session.events({ after: middle, signal: stop.signal, types: ["turn.ended"] }));
  const ends = whole.filter(({ type, sequence }) => type === "turn.ended" && sequence > middle);
  await later.upTo(ends.length);
  equal(JSON.stringify(later.events), JSON.stringify(ends), "a stream begins after its cursor");

  const reason = new Error("enough");
  stop.abort(reason);
  equal(await read.over, reason, "an abort ends the loop");
  equal(await everything.over, reason);
  await leavesEarly(session);
  await comesLate(client, session.id);
  const fork = await new Omniglot({ url: direct, token }).sessions.open(session.id).fork();
  await comesLate(client, fork.id);
  await fork.delete();
  await removesFromTheQueue(session, new Omniglot({ url: direct, token }).sessions.open(session.id));
  await throwsInCallbacks(session);
  await losesItsLog(Omniglot, direct, token);
  session.close();
  await followsAll(client, sdk);
  await refusals(client, session, stream.cursor, OmniglotError);
  return `${whole.length} events`;
}

async function answersRequests(session) {
  const replied = [];
  const permissions = (async () => {
    for await (const request of session.permissions()) {
      await request.reply("once");
      replied.push((await request.resolved).status);
    }
  })();
  const questions = (async () => {
    for await (const question of session.questions()) {
      await question.answer(["Blue"]);
      replied.push((await question.resolved).response);
      return;
    }
  })();
  equal((await session.prompt("[[permission]]")).stopReason, "end_turn");
  await session.prompt("[[question:one]]");
  await questions;
  equal(replied.join(), "accept,Blue");
  session.close();
  await permissions;
  equal(session.state.title, undefined, "nothing is known of a session that is not followed");
  await session.sync();
  session.close();
  await session.sync();
  equal(session.state.title, "Cut", "a session can be followed again at once");
}

/** What is over is neither asked nor told again, and a reply that comes too late does nothing. */
async function comesLate(client, id) {
  const session = client.sessions.open(id);
  const [asked, heard] = [[], []];
  const loop = (async () => {
    for await (const request of session.permissions()) {
      asked.push(request);
      await request.reply("once");
    }
  })();
  session.onEvent(({ sequence }) => heard.push(sequence));
  await session.sync();
  const { eventCount } = await session.info();
  equal([asked.length, heard.length].join(), "0,0", "nothing is told again");
  await session.prompt("[[permission]]");
  equal([asked.length, heard[0]].join(), `1,${eventCount + 1}`);
  await asked[0].reply("reject");
  equal((await asked[0].resolved).status, "accept", "the first reply counts");
  session.close();
  await loop;
}

/** A request is resolved although the loop that has told it was left. */
async function leavesEarly(session) {
  const listeners = session.follower.listeners.size;
  const prompt = session.prompt("[[permission]]");
  let left;
  for await (left of session.permissions()) break;
  await left.reply("reject");
  equal((await left.resolved).status, "reject");
  await prompt;
  equal(session.follower.listeners.size, listeners, "nobody listens in vain");
}

/** A prompt whose message is removed, or not taken, fails and leaves nothing behind; one that waits is answered. */
async function removesFromTheQueue(session, uncut) {
  await uncut.sync();
  const listeners = session.follower.listeners.size;
  const started = until(session, ({ type }) => type === "turn.started");
  await session.send("[[silence]]");
  await started;
  const shown = () => until(session, ({ type, data }) => type === "session.updated" && data.queue != null);
  const removed = async (prompting, text) => {
    const queued = shown();
    const prompt = failure(prompting.prompt(text));
    const { queue } = (await queued).data;
    const messages = Array.isArray(queue) ? queue : await uncut.http.json("GET", queue.$blob);
    await session.unsend(messages[0].message_id);
    equal((await prompt)?.message, "the message was removed from the queue");
    return Array.isArray(queue);
  };
  equal(await removed(session, "[[text:1]]"), true);
  // A list of more than 16 KiB is not in the event itself, and our network never lets so much through.
  equal(await removed(uncut, `[[text:1]] ${"x".repeat(20_000)}`), false);
  uncut.close();
  const queued = shown();
  const prompt = session.prompt("[[text:2]]");
  await queued;
  await session.cancel();
  equal((await prompt).stopReason, "end_turn", "a message that waits is answered");
  equal((await failure(session.prompt("", { attachments: [{ path: "/no/such" }] })))?.status, 400);
  const reason = new Error("enough");
  equal(await failure(session.prompt("[[text:1]]", { signal: AbortSignal.abort(reason) })), reason);
  equal(session.follower.listeners.size, listeners, "nobody listens in vain");
}

async function throwsInCallbacks(session) {
  const reported = uncaught();
  const stop = session.onEvent(() => {
    stop();
    throw new Error("in a callback");
  });
  equal((await session.prompt("[[text:3]]")).stopReason, "end_turn", "others hear on");
  equal((await reported).message, "in a callback");
}

/** A session is deleted and made anew while nobody is connected: what was open is refused, and the new one followed. */
async function losesItsLog(Omniglot, direct, token) {
  let [cut, connected] = [new AbortController(), Promise.resolve()];
  const gated = async (url, init) => {
    await connected;
    return fetch(url, { ...init, signal: AbortSignal.any([init.signal, cut.signal]) });
  };
  const [client, other] = [new Omniglot({ url: direct, token, fetch: gated }), new Omniglot({ url: direct, token })];
  const session = await client.sessions.create({ agent: "mock" });
  const permissions = session.permissions();
  await session.send("[[permission]]");
  const old = (await permissions.next()).value;
  let connect;
  connected = new Promise((resolve) => (connect = resolve));
  cut.abort();
  cut = new AbortController();
  await other.sessions.open(session.id).delete();
  await other.sessions.create({ id: session.id, agent: "mock" });
  connect();
  equal((await failure(old.resolved))?.status, 410);
  const prompt = session.prompt("[[permission]]");
  await (await permissions.next()).value.reply("once");
  equal((await prompt).stopReason, "end_turn");
  const last = failure(session.prompt("[[permission]]"));
  const open = (await permissions.next()).value;
  await other.sessions.open(session.id).delete();
  equal((await failure(open.resolved))?.name, "Closed", "nothing waits for a session that was deleted");
  equal((await last) instanceof Error, true);
}

/** The stream of all sessions begins now, keeps to its filters, tells deletions, and goes on elsewhere. */
async function followsAll(client, { OmniglotError }) {
  const [stop, reason] = [new AbortController(), new Error("enough")];
  const [connected, deleted] = [deferred(), deferred()];
  const filter = { labels: { test: "all" }, types: ["turn.started", "turn.ended"], signal: stop.signal };
  const stream = client.events({ ...filter, onCaughtUp: connected.resolve, onDeleted: deleted.resolve });
  const read = collect(stream);
  await connected.promise;
  let cursor;
  const sessions = [];
  for (const labels of [{ test: "all" }, { test: "all", more: "yes" }, { test: "other" }])
    sessions.push(await client.sessions.create({ agent: "mock", labels }));
  for (let turn = 0; turn < 2; turn++) {
    for (const session of sessions) {
      await session.prompt("[[text:8]]");
      session.close();
    }
    await read.upTo(4 * (turn + 1));
    cursor ??= stream.cursor;
  }
  equal(read.events.map(({ type }) => type).join(), "turn.started,turn.ended,".repeat(4).slice(0, -1));
  equal(read.events.map(({ session_id }) => sessions.findIndex(({ id }) => id === session_id)).join(), "0,0,1,1,0,0,1,1");
  const later = collect(client.events({ ...filter, after: cursor, agent: "mock" }));
  await later.upTo(4);
  equal(JSON.stringify(later.events), JSON.stringify(read.events.slice(-4)), "another stream goes on after a cursor");
  await sessions[0].delete();
  equal(await deleted.promise, sessions[0].id);
  stop.abort(reason);
  equal([await read.over, await later.over].every((error) => error === reason), true);
  const gone = await collect(client.events({ after: "other.1" })).over;
  equal([gone instanceof OmniglotError, gone?.status].join(), "true,410");
  for (const session of sessions.slice(1)) await session.delete();
}

async function refusals(client, session, cursor, OmniglotError) {
  const refused = async (promise, status, type) => {
    const error = await promise.then(() => undefined, (error) => error);
    equal(error instanceof OmniglotError, true, String(error));
    equal([error.status, error.type].join(), [status, type].join());
  };
  await refused(client.sessions.get("nosuch"), 404, "session_not_found");
  await refused(client.sessions.create({ agent: "nosuch" }), 400, "unsupported_agent");
  const listed = await client.sessions.list({ labels: { test: "sdk", of: "one, two" } });
  equal(listed.map(({ sessionId }) => sessionId).join(), session.id);
  const deleted = collect(session.events());
  await deleted.upTo(1);
  session.close();
  await session.delete();
  equal(await deleted.over, undefined, "the loop ends with the session");
  await again(() => client.sessions.create({ id: session.id, agent: "mock" }));
  await refused(collect(session.events({ after: cursor })).over.then((error) => Promise.reject(error)), 410, "gone");
}

function deferred() {
  let resolve;
  const promise = new Promise((settle) => (resolve = settle));
  return { promise, resolve };
}

function failure(promise) {
  return promise.then(() => undefined, (error) => error);
}

/** The next exception that nobody catches. */
function uncaught() {
  return new Promise((resolve) => {
    const { process } = globalThis;
    if (process !== undefined) process.once("uncaughtException", resolve);
    else addEventListener("error", (event) => (event.preventDefault(), resolve(event.error)), { once: true });
  });
}

/** A request with an id of one's own is not sent again after a cut: the caller decides. */
async function again(request) {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (error.status === 409) return;
      if (error.status !== undefined) throw error;
    }
  }
}

/** Reads a stream; `upTo` waits for a number of events, `over` is what its loop throws. */
function collect(stream) {
  const events = [];
  let wake = () => {};
  const over = (async () => {
    try {
      for await (const event of stream) events.push(event), wake();
    } catch (error) {
      return error;
    }
  })();
  const upTo = async (count) => {
    while (events.length < count) await new Promise((resolve) => (wake = resolve));
  };
  return { events, over, upTo };
}

/** Waits for the next event that fits. */
function until(session, fits) {
  return new Promise((resolve) => {
    const stop = session.onEvent((event) => fits(event) && (stop(), resolve(event)));
  });
}

async function history(direct, token, id) {
  const events = [];
  for (;;) {
    const path = `/v1/sessions/${id}/events?offset=${events.at(-1)?.sequence ?? 0}`;
    const page = await fetch(direct + path, { headers: { authorization: `Bearer ${token}` } }).then((r) => r.json());
    events.push(...page.events);
    if (!page.hasMore) return events;
  }
}

function equal(found, wanted, why = "") {
  if (found !== wanted) throw new Error(`${why}: expected ${wanted}, found ${found}`);
}

function sorted(value) {
  return JSON.stringify(value, (_, inner) =>
    inner !== null && typeof inner === "object" && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner);
}
