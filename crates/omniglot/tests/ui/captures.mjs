// Opens every session that was imported from recordings: none breaks the page, and every message and call of the log is
// on it.
import assert from 'node:assert/strict'
import { call, enter, expected, given, play, visit } from './page.mjs'

// A recording names pictures and long lists whose bytes it does not have.
expected.push(/404 \(Not Found\) \S+\/blobs\//)

/** The items of a session that must be seen: what was said, and calls. */
function wanted(events) {
  const items = []
  for (const { type, data } of events) {
    if (type !== 'item.completed') continue
    const { item_id, kind, role, content } = data.item
    const text = content.some((part) => part.type === 'text' && part.text.trim() !== '')
    if ((kind === 'message' && role !== 'system' && text) || kind === 'tool_call') items.push(item_id)
  }
  return items
}

await play(async () => {
  // High enough for all of most transcripts.
  const page = await enter('', { viewport: { width: 1000, height: 4_000 } })
  let seen = 0
  for (const session of given.sessions) {
    const path = encodeURIComponent(session)
    const { events } = await call('GET', `/v1/sessions/${path}/events?offset=0&limit=10000`)
    await visit(page, `#/session/${path}`)
    const items = wanted(events)
    // Everything was read, also where there is nothing to look for.
    await page.getByText(/^reading…/).waitFor({ state: 'detached' })
    const isShown = (items) => items.every((item) => document.querySelector(`[data-item="${item}"]`))
    await page.waitForFunction(isShown, items).catch((error) => {
      throw new Error(`${session} does not show all of ${items}`, { cause: error })
    })
    seen += items.length
  }
  assert(seen > given.sessions.length, `${seen} items in ${given.sessions.length} sessions`)
  console.log(`${given.sessions.length} sessions, ${seen} items`)
})
