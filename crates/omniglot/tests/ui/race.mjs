// Two people answer one permission at the same time: one wins, the other is told who was faster. Neither needs to load
// the page anew.
import assert from 'node:assert/strict'
import { at, call, enter, expected, given, play, tab, visit } from './page.mjs'

// The browser itself tells of the answer to the slower one.
expected.push('409 (Conflict)')

await play(async () => {
  const names = ['ann', 'bob']
  const people = []
  for (const name of names) {
    const { secret } = await call('POST', '/v1/tokens', { name: `ui-${name}`, scope: 'answer' })
    people.push(await enter('', { token: secret }))
  }
  await call('POST', '/v1/sessions/race', { agent: 'mock', directory: given.directory })
  await call('POST', '/v1/sessions/race/messages', { message: '[[permission]]' })
  const buttons = people.map((page) => at(page, 'request').getByRole('button', { name: 'Allow once' }))
  for (const button of buttons) await button.waitFor()
  // In the page itself: whoever is slower finds the button gone, or gets a 409; both are told the same.
  await Promise.all(people.map((page) => page.evaluate(() => document.querySelector('[data-testid=request] button.primary')?.click())))
  const losers = people.map((page) => at(page, 'resolved').filter({ hasText: 'Answered by' }).waitFor().then(() => page))
  const loser = await Promise.race(losers)
  const winner = names[1 - people.indexOf(loser)]
  await at(loser, 'resolved').getByText(`ui-${winner}`).waitFor()
  for (const page of people) await at(page, 'request').waitFor({ state: 'detached' })
  console.log('the loser knows who won')

  // The same by the keyboard, in the transcript.
  await call('POST', '/v1/sessions/race/messages', { message: '[[permission]]' })
  const page = people[0]
  await visit(page, '#/session/race')
  await at(page, 'request').waitFor()
  await page.keyboard.press('a')
  await at(page, 'request').waitFor({ state: 'detached' })
  await page.locator('[data-testid=turn][data-state=ended]').nth(1).waitFor()
  assert.equal(await page.getByRole('textbox', { name: 'Message', exact: true }).count(), 0, 'who may only answer is offered no message')
  console.log('a token with less shows less')

  const { secret } = await call('POST', '/v1/tokens', { name: 'ui-reader', scope: 'read' })
  await call('POST', '/v1/sessions/race/messages', { message: '[[permission]]' })
  const reader = await enter('', { token: secret })
  await at(reader, 'request').waitFor()
  assert.equal(await at(reader, 'request').getByRole('button', { name: 'Allow once' }).count(), 0)
  await call('POST', '/v1/sessions/race/cancel')
  await at(reader, 'request').waitFor({ state: 'detached' })

  // A second tab has no token of its own: sessionStorage is the tab's.
  const other = await tab(reader.context())
  await other.goto(`${given.url}/ui/`)
  await other.getByRole('form', { name: 'Log in' }).waitFor()
})
