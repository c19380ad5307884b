// Looks at every view in light and dark, on a desk and on a phone: axe finds nothing serious, nothing is wider than the
// screen; and takes the pictures of the manual.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { at, call, ended, enter, given, play, sees, tab, visit, window } from './page.mjs'

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
  events: ['#/session/birds/events/12', (page) => page.getByRole('region', { name: 'Native frame' }).waitFor()],
  waiting: ['#/session/login', (page) => at(page, 'request').waitFor()],
  new: ['#/new', (page) => page.getByLabel('Agent', { exact: true }).waitFor()],
  agents: ['#/agents', (page) => page.getByRole('article').first().waitFor()],
}

async function look(page, name) {
  const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth)
  assert(wide <= 0, `${name} is ${wide} px wider than the screen`)
  const { violations } = await page.evaluate(() => axe.run({ resultTypes: ['violations'] }))
  const serious = violations.filter(({ impact }) => ['serious', 'critical'].includes(impact))
  const told = serious.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map((node) => node.html.slice(0, 160)).join(' ')}`)
  assert.deepEqual(told, [], `axe about ${name}`)
}

await play(async () => {
  await prepare()
  const desk = { width: 1280, height: 800 }
  const phone = { width: 390, height: 844 }
  for (const [colorScheme, viewport] of [['light', desk], ['dark', desk], ['light', phone]]) {
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
    console.log(place)
  }
  for (const id of ['evening', 'login', 'tests']) await call('POST', `/v1/sessions/${id}/cancel`)
})
