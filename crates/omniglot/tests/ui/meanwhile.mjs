// What happens while the page waits for an answer of the daemon: no event, request or session is lost, none comes back,
// and a connection that broke meanwhile is not called a good one.
import assert from 'node:assert/strict'
import { at, call, caughtUp, connection, enter, expected, given, hold, play, press, proxy, sees, tab, window } from './page.mjs'

// The browser itself tells of connections that break, and of an answer that was given already.
expected.push('net::ERR_', '409 (Conflict)')

const message = (session, message) => call('POST', `/v1/sessions/${session}/messages`, { message })
const row = (page, session, state) => page.locator(`[data-testid=session-row][data-session="${session}"]${state ? `[data-state=${state}]` : ''}`)

/** Opens the page at home, and holds an answer that it needs before it has caught up. */
async function entering(pattern, isMeant) {
  const page = await tab(await window())
  const held = await hold(page, pattern, isMeant)
  await page.goto(`${given.url}/ui/#token=${given.token}`)
  await held.asked
  return { page, held }
}

let turns = 0

async function turnEnded() {
  turns += 1
  for (let ended = 0; ended < turns; ) ended = (await call('GET', '/v1/sessions/two/events?offset=0&types=turn.ended')).events.length
}

await play(async () => {
  for (const id of ['one', 'two', 'three']) await call('POST', `/v1/sessions/${id}`, { agent: 'mock', directory: given.directory })

  // A request that comes after the list was made.
  const first = await entering('**/v1/requests*')
  await message('one', '[[permission]]')
  await row(first.page, 'one', 'waiting').waitFor()
  await first.held.letGo()
  await caughtUp(first.page)
  await at(first.page, 'request').waitFor()
  console.log('a request that is newer than the list stays')

  // A request that ends after the list was made.
  const second = await entering('**/v1/requests*')
  await call('POST', '/v1/sessions/one/cancel')
  await row(second.page, 'one', 'idle').waitFor()
  await second.held.letGo()
  await caughtUp(second.page)
  await sees(second.page, 'Nothing waits for you.')
  assert.equal(await at(second.page, 'request').count(), 0)
  console.log('a request that has ended does not come back')

  // A session that is too old for the list, and an answer whose confirmation is lost.
  await message('one', '[[permission]]')
  const old = await tab(await window())
  await old.route('**/v1/sessions?*include=state*', (route) => route.fulfill({ json: { sessions: [] } }))
  await old.goto(`${given.url}/ui/#token=${given.token}`)
  await caughtUp(old)
  await at(old, 'request').waitFor()
  await row(old, 'one', 'waiting').waitFor()
  await old.route('**/permissions/*/reply', async (route) => (await route.fetch(), await route.abort()), { times: 1 })
  const again = old.waitForResponse((response) => response.url().endsWith('/reply') && response.status() === 409)
  await press(old, 'Allow once')
  await again
  await at(old, 'request').waitFor({ state: 'detached' })
  await row(old, 'one', 'idle').waitFor()
  assert.equal((await at(old, 'resolved').count()) + (await at(old, 'notice').count()), 0, 'nobody else was faster')
  console.log('old sessions may ask, and an answer may be sent twice')

  // A session that is made while the list is on its way. The page is there already: only its list is asked for anew.
  const front = await proxy(given.url)
  const third = await tab(await window())
  const list = await hold(third, '**/v1/sessions?*include=state*')
  await third.goto(`${front.url}/ui/#token=${given.token}`)
  await list.asked
  await call('POST', '/v1/sessions/four', { agent: 'mock', directory: given.directory })
  await message('four', '[[permission]]')
  await row(third, 'four').waitFor()
  await list.letGo()
  await caughtUp(third)
  await row(third, 'one').waitFor()
  await row(third, 'four', 'waiting').waitFor()
  await at(third, 'request').waitFor()
  console.log('a session that is newer than the list stays')

  // The connection breaks while the page waits for the list of requests.
  const fourth = await tab(await window())
  const requests = await hold(fourth, '**/v1/requests*')
  await fourth.goto(`${front.url}/ui/#token=${given.token}`)
  await requests.asked
  front.lead('http://127.0.0.1:1')
  front.cut()
  await connection(fourth, 'reconnecting')
  await requests.letGo()
  await at(fourth, 'request').waitFor()
  assert.equal(await at(fourth, 'connection').getAttribute('data-state'), 'reconnecting', 'what is cut is not caught up')
  front.lead(given.url)
  await caughtUp(fourth)
  front.close()
  await call('POST', '/v1/sessions/four/cancel')
  console.log('a cut is told also when an answer comes after it')

  // Events that come while a page of them is read, whether all types are shown or one.
  const reader = await enter('#/session/two')
  const rows = at(reader, 'event-row')
  const during = async (what, open) => {
    const held = await hold(reader, '**/v1/sessions/two/events?*')
    await open()
    await held.asked
    await message('two', '[[text:30]]')
    // The stream is in order: whoever knows the title knows everything before it.
    await turnEnded()
    await call('PATCH', '/v1/sessions/two', { title: what })
    await reader.getByRole('heading', { level: 1, name: what }).waitFor()
    await held.letGo()
    const { eventCount } = await call('GET', '/v1/sessions/two')
    return eventCount
  }
  const last = await during('all types', () => reader.getByRole('link', { name: 'Events', exact: true }).click())
  await reader.locator(`[data-testid=event-row][data-sequence="${last}"]`).waitFor()
  const sequences = await rows.evaluateAll((rows) => rows.map((row) => Number(row.dataset.sequence)))
  assert.deepEqual(sequences, sequences.map((_, at) => sequences[0] + at), 'no event is missing')
  await during('one type', () => reader.getByRole('button', { name: 'turn.started' }).click())
  await reader.locator('[data-testid=event-row]:not([data-type="turn.started"])').first().waitFor({ state: 'detached' })
  await rows.nth(1).waitFor()
  assert.equal(await rows.count(), 2)
  console.log('no event is missing')
})
