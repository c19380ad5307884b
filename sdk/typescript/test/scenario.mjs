// A whole session over a network that cuts every connection at random points, in Node and in browsers. It throws
// unless everything is told exactly once.

/**
 * `sdk`: the module; `proxied`: the address that is cut; `direct`: one that is not; `restart`: kills the daemon and
 * starts it again, and returns its new direct address.
 */
export async function play({ sdk, proxied, direct, token, restart }) {
  const { Omniglot, OmniglotError } = sdk;
  const client = new Omniglot({ url: proxied, token, silenceMs: 1_000, timeoutMs: 3_000 });
  const session = await client.sessions.create({ agent: "mock", title: "Cut", labels: { test: "sdk" } });
  const stop = new AbortController();
  const stream = session.events({ signal: stop.signal });
  const read = collect(stream);

  for (let turn = 0; turn < 4; turn++) {
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

async function refusals(client, session, cursor, OmniglotError) {
  const refused = async (promise, status, type) => {
    const error = await promise.then(() => undefined, (error) => error);
    equal(error instanceof OmniglotError, true, String(error));
    equal([error.status, error.type].join(), [status, type].join());
  };
  await refused(client.sessions.get("nosuch"), 404, "session_not_found");
  await refused(client.sessions.create({ agent: "nosuch" }), 400, "unsupported_agent");
  const listed = await client.sessions.list({ labels: { test: "sdk" } });
  equal(listed.map(({ sessionId }) => sessionId).join(), session.id);
  const deleted = collect(session.events());
  await deleted.upTo(1);
  session.close();
  await session.delete();
  equal(await deleted.over, undefined, "the loop ends with the session");
  await again(() => client.sessions.create({ id: session.id, agent: "mock" }));
  await refused(collect(session.events({ after: cursor })).over.then((error) => Promise.reject(error)), 410, "gone");
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
