// Each tab has one stream: that of the open session, or that of all sessions at home and while the tab is hidden.
import assert from 'node:assert/strict'
import { at, call, ended, enter, given, play, sees, visit } from './page.mjs'

await play(async () => {
  for (const id of ['one', 'two']) await call('POST', `/v1/sessions/${id}`, { agent: 'mock', directory: given.directory })
  const page = await enter()
  const open = new Set()
  const path = (request) => new URL(request.url()).pathname
  page.on('request', (request) => path(request).endsWith('/sse') && open.add(request))
  for (const over of ['requestfinished', 'requestfailed']) page.on(over, (request) => open.delete(request))
  const only = async (wanted) => {
    while (open.size !== 1 || path([...open][0]) !== wanted) await page.evaluate(() => new Promise(requestIdleCallback))
  }
  await visit(page, '#/session/one')
  await only('/v1/sessions/one/events/sse')
  await visit(page, '#/session/two')
  await only('/v1/sessions/two/events/sse')
  console.log('one stream per tab')

  const hide = (isHidden) =>
    page.evaluate((isHidden) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => isHidden })
      document.dispatchEvent(new Event('visibilitychange'))
    }, isHidden)
  await hide(true)
  await only('/v1/events/sse')
  // A hidden tab tells in its title what waits anywhere.
  await call('POST', '/v1/sessions/one/messages', { message: '[[permission]]' })
  await page.waitForFunction(() => document.title.startsWith('(1) '))
  await call('POST', '/v1/sessions/two/messages', { message: 'While nobody looks. [[text]]' })
  await hide(false)
  await only('/v1/sessions/two/events/sse')
  await ended(page, 1)
  await sees(page, 'as a real model does.')
  console.log('a hidden tab follows all sessions, and goes on where it was')

  // Somebody answers while the tab is elsewhere: what was never seen at home is not told as lost there.
  await call('POST', '/v1/sessions/one/cancel')
  await call('POST', '/v1/sessions/one/messages', { message: '[[permission]]' })
  await call('POST', '/v1/sessions/one/cancel')
  await visit(page, '#/')
  await page.locator('[data-testid=session-row][data-session=one][data-state=idle]').waitFor()
  await sees(page, 'Nothing waits for you.')
  assert.equal(await at(page, 'resolved').count(), 0)
  await only('/v1/events/sse')
})
