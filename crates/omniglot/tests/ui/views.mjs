// Looks at every view in light and dark, on a desk and on a phone: axe finds nothing serious, nothing is wider than the
// screen; and takes the pictures of the manual.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { at, call, connection, ended, enter, expected, given, play, proxy, sees, tab, visit, window } from './page.mjs'

// The browser itself tells of a session that is not there, and of connections that break.
expected.push(/404 \(Not Found\) \S+\/v1\/sessions\/nowhere/, 'net::ERR_')

const axe = readFileSync(given.axe, 'utf8')
const text = (message) => ({ message })

/** Makes the sessions that the views show. `demo` plays the script of that name, whatever it is told. */
async function prepare() {
  const directory = `${given.directory}/heron`
  mkdirSync(`${directory}/src`, { recursive: true })
  writeFileSync(`${directory}/README.md`, '# Heron\n\nCounts the birds of a lake.\n')
  const create = (id, agent, title, labels) => call('POST', `/v1/sessions/${id}`, { agent, directory, title, labels })
  await create('birds', 'demo', 'Count the herons twice a day', { app: 'heron' })
  await create('evening', 'demo', 'Count them in the evening as well', {})
  await create('login', 'mock', 'Choose the colour of the buttons', {})
  await create('tests', 'mock', 'Make the tests of the parser quicker', { app: 'parser' })
  const page = await enter('#/session/birds')
  const prompts = ['What does this project do?', 'Count them in the evening as well.', 'Say so in the README.']
  for (const [at, prompt] of prompts.entries()) {
    await call('POST', '/v1/sessions/birds/messages', text(prompt))
    if (at === 1) await page.getByRole('button', { name: 'Allow once' }).first().click()
    await ended(page, at + 1)
  }
  await page.close()
  for (const prompt of prompts.slice(0, 2)) await call('POST', '/v1/sessions/evening/messages', text(prompt))
  await call('POST', '/v1/sessions/login/messages', text('[[question:one]]'))
  await call('POST', '/v1/sessions/tests/messages', text('[[read]] [[silence]]'))
}

const VIEWS = {
  home: ['#/', (page) => at(page, 'request').nth(1).waitFor()],
  session: ['#/session/birds', (page) => sees(page, 'twice a day now')],
  changes: ['#/session/birds/changes', (page) => at(page, 'change').first().waitFor()],
  events: ['#/session/birds/events/12', (page) => page.getByRole('region', { name: 'Native frame' }).getByText(/jsonrpc|there is no frame/).first().waitFor()],
  waiting: ['#/session/login', (page) => at(page, 'request').waitFor()],
  new: ['#/new', (page) => page.getByLabel('Agent', { exact: true }).locator('option[value=mock]').waitFor({ state: 'attached' })],
  agents: ['#/agents', (page) => page.getByRole('article').first().waitFor()],
}

async function look(page, name) {
  // What scrolls by itself hides what is too wide for it.
  const wide = await page.evaluate(() => {
    const boxes = [document.scrollingElement, ...document.querySelectorAll('main, .top, .page, .home, .session-head, .turns-pane, .panel, .events-list, .event-detail')]
    return boxes.filter((box) => box.scrollWidth > box.clientWidth).map((box) => `${box.tagName}.${box.className}: ${box.scrollWidth} in ${box.clientWidth} px`)
  })
  assert.deepEqual(wide, [], `${name} is wider than the screen`)
  const { violations } = await page.evaluate(() => axe.run({ resultTypes: ['violations'] }))
  const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
  const told = serious.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html.slice(0, 160)).join(' ')}`)
  assert.deepEqual(told, [], `axe about ${name}`)
}

/** The bar while there is no connection, and when there is none any more, which is told in words. */
async function lookAtCuts(page, place) {
  await visit(page, '#/')
  assert.equal(await at(page, 'connection').getByText('Caught up').count(), 1, 'the state is there to be heard')
  await page.evaluate(() => void (location.hash = '#/session/nowhere'))
  await page.getByRole('button', { name: 'Try again' }).waitFor()
  await look(page, `a bar that has stopped in ${place}`)
  const front = await proxy(given.url)
  const other = await enter('', { url: front.url, viewport: page.viewportSize() })
  await other.evaluate(axe)
  front.lead('http://127.0.0.1:1')
  front.cut()
  await connection(other, 'reconnecting')
  await look(other, `a bar without a connection in ${place}`)
  await other.close()
  front.close()
}

await play(async () => {
  await prepare()
  const desk = { width: 1280, height: 800 }
  const phone = { width: 390, height: 844 }
  for (const [colorScheme, viewport] of [['light', desk], ['dark', desk], ['light', phone], ['dark', phone]]) {
    const place = `${colorScheme}, ${viewport.width} px`
    const login = await tab(await window({ colorScheme, viewport }))
    await login.goto(`${given.url}/ui/`)
    await login.getByRole('form', { name: 'Log in' }).waitFor()
    await login.evaluate(axe)
    await look(login, `login in ${place}`)
    const page = await enter('', { colorScheme, viewport, reducedMotion: 'reduce' })
    await page.evaluate(axe)
    for (const [name, [hash, ready]] of Object.entries(VIEWS)) {
      await visit(page, hash)
      await ready(page)
      await look(page, `${name} in ${place}`)
      if (viewport === desk && ['home', 'session', 'changes', 'events'].includes(name)) await page.screenshot({ path: `${given.pictures}/${name}-${colorScheme}.png` })
    }
    if (viewport === phone) await lookAtCuts(page, place)
    console.log(place)
  }
  for (const id of ['evening', 'login', 'tests']) await call('POST', `/v1/sessions/${id}/cancel`)
})
