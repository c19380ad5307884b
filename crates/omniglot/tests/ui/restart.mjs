// The daemon is killed in the middle of a turn and started again, and before that every connection is cut: the page says
// that it is reconnecting, goes on where it was, and its text is that of the log.
import assert from 'node:assert/strict'
import { ask, call, caughtUp, connection, enter, ended, expected, given, play, proxy, send } from './page.mjs'

// The browser itself tells of connections that break.
expected.push('net::ERR_')

/** The words of the assistant as the log has them, message by message. */
async function told(url) {
  const { events } = await call('GET', '/v1/sessions/s/events?offset=0&limit=10000', undefined, { url })
  const texts = new Map()
  for (const { type, data } of events) {
    if (type === 'item.started' && data.item.kind === 'message' && data.item.role === 'assistant') texts.set(data.item.item_id, '')
    if (type === 'item.delta' && texts.has(data.item_id)) texts.set(data.item_id, texts.get(data.item_id) + data.delta)
  }
  return [...texts.values()].map(words)
}

const words = (text) => text.replace(/\s+/g, ' ').trim()

async function shown(page) {
  const messages = page.locator('[data-testid=message][data-role=assistant]')
  // Without the note that a message was not finished, which is not of the log.
  const texts = await messages.evaluateAll((all) => all.map((one) => [...one.querySelectorAll(':scope > :not(.bad)')].map((part) => part.innerText).join(' ')))
  return texts.map(words)
}

await play(async () => {
  const front = await proxy(given.url)
  await call('POST', '/v1/sessions/s', { agent: 'mock', directory: given.directory })
  const page = await enter('#/session/s', { url: front.url })
  const interrupted = front.cutAt('"delta":"')
  await send(page, '[[text:40]] [[silence]]')
  await interrupted
  await page.locator('[data-testid=message][data-role=assistant]').waitFor()
  await caughtUp(page)
  console.log('a delta was cut in its middle')
  for (let round = 0; round < 3; round += 1) {
    const reconnecting = connection(page, 'reconnecting')
    front.cut()
    await reconnecting
    await caughtUp(page)
  }
  console.log('cut and connected again')

  const reconnecting = connection(page, 'reconnecting')
  const url = await ask('restart')
  await reconnecting
  front.lead(url)
  await caughtUp(page)
  await ended(page, 1)
  await send(page, 'After the restart. [[text:12]]')
  await ended(page, 2)
  const log = await told(url)
  assert(log.length >= 2 && log.every((text) => text !== ''), JSON.stringify(log))
  assert.deepEqual(await shown(page), log)
  console.log('the page has the words of the log')

  await page.reload()
  await caughtUp(page)
  await ended(page, 2)
  assert.deepEqual(await shown(page), log)
  front.close()
})
