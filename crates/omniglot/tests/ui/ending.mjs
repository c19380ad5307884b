// What ends while somebody looks: a token, a session, a log that another one replaces. Each is said plainly, and the page
// goes on from there.
import assert from 'node:assert/strict'
import { at, call, caughtUp, ended, enter, expected, given, play, proxy, sees, tab, visit, window } from './page.mjs'

// The browser itself tells of refusals and of connections that break.
expected.push('401 (Unauthorized)', '404 (Not Found)', '410 (Gone)', 'net::ERR_')

await play(async () => {
  const wrong = await tab(await window())
  await wrong.goto(`${given.url}/ui/#token=omniglot_nothing`)
  await wrong.getByRole('form', { name: 'Log in' }).waitFor()
  await wrong.getByRole('alert').waitFor()
  await wrong.getByRole('textbox', { name: 'Token' }).fill(given.token)
  await wrong.getByRole('button', { name: 'Log in' }).click()
  await caughtUp(wrong)
  console.log('a wrong token is told, a right one can be typed')

  const { id, secret } = await call('POST', '/v1/tokens', { name: 'ui-short', scope: 'drive' })
  await call('POST', '/v1/sessions/s', { agent: 'mock', directory: given.directory })
  await call('POST', '/v1/sessions/s/messages', { message: 'First log. [[text]]' })
  const page = await enter('#/session/s', { token: secret })
  await ended(page, 1)
  await call('DELETE', `/v1/tokens/${id}`)
  await page.getByRole('form', { name: 'Log in' }).waitFor()
  await page.getByRole('alert').waitFor()
  assert.equal(await page.getByText('First log.').count(), 0, 'what was read with the token is gone with it')
  await page.getByRole('textbox', { name: 'Token' }).fill(given.token)
  await page.getByRole('button', { name: 'Log in' }).click()
  await ended(page, 1)
  await sees(page, 'as a real model does.')
  console.log('a token that ends is told, and another one goes on')

  const front = await proxy(given.url)
  const reader = await enter('#/session/s', { url: front.url })
  await ended(reader, 1)
  front.lead('http://127.0.0.1:1')
  front.cut()
  await reader.locator('[data-testid=connection][data-state=reconnecting]').waitFor()
  await call('DELETE', '/v1/sessions/s')
  await call('POST', '/v1/sessions/s', { agent: 'mock', directory: given.directory })
  await call('POST', '/v1/sessions/s/messages', { message: 'Second log. [[text]]' })
  front.lead(given.url)
  await at(reader, 'notice').first().waitFor()
  await at(reader, 'message').getByText('Second log.').waitFor()
  assert.equal(await at(reader, 'message').getByText('First log.').count(), 0)
  console.log('another log in the same place is read anew')

  await call('DELETE', '/v1/sessions/s')
  await sees(reader, /deleted/)
  await visit(reader, '#/')
  await sees(reader, 'There is no session yet.')
  front.close()
})
