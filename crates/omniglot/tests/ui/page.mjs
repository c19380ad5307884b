// Opens Omniglot's screen in a real browser for the scripts beside this file, and watches over every page: an exception,
// an error in the console and a request to another host fail the script. The only argument is a JSON object: playwright's
// file, the browser, the daemon's URL, a token, and what a script needs beside them.
import assert from 'node:assert/strict'
import net from 'node:net'
import { createInterface } from 'node:readline'

export const given = JSON.parse(process.argv[2])
/** How long a page may take for one step. */
const TIMEOUT = given.timeout ?? 30_000
const { chromium } = await import(given.playwright)

let browser
const complaints = []
const pages = []
/** Errors in the console that a script expects: texts, or patterns of the text with the address behind it. */
export const expected = []
const isExpected = (text) => expected.some((one) => (one instanceof RegExp ? one.test(text) : text.includes(one)))

/** Runs a script to its end; says how the pages looked if it fails. */
export async function play(script) {
  browser = await chromium.launch({ executablePath: given.browser, args: ['--no-sandbox'] })
  try {
    await script()
    assert.deepEqual(complaints, [])
    console.log('all done')
  } catch (error) {
    for (const page of pages) console.log('a page at the end:', page.url(), await page.innerText('body').catch(() => 'gone'))
    console.log('complaints:', complaints)
    throw error
  } finally {
    await browser.close()
    process.stdin.destroy()
  }
}

/** Opens a page of its own window, logged in by the fragment, and waits until it has caught up. */
export async function enter(hash = '', { token = given.token, url = given.url, ...context } = {}) {
  const page = await tab(await window(context))
  await page.goto(`${url}/ui/#token=${token}`)
  await caughtUp(page)
  if (hash !== '') await visit(page, hash)
  return page
}

export async function window(context = {}) {
  const made = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...context })
  made.setDefaultTimeout(TIMEOUT)
  return made
}

export async function tab(context) {
  const page = await context.newPage()
  pages.push(page)
  page.on('pageerror', (error) => complaints.push(`exception: ${error.stack ?? error.message}`))
  page.on('console', (message) => {
    const text = `${message.text()} ${message.location().url}`
    if (message.type() === 'error' && !isExpected(text)) complaints.push(`console: ${text}`)
  })
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    if (!['blob:', 'data:', 'file:'].includes(protocol) && hostname !== '127.0.0.1') complaints.push(`request: ${request.url()}`)
  })
  return page
}

/** Goes to another address of the page, as a link in it does, and waits until that has caught up. */
export async function visit(page, hash) {
  await page.evaluate((hash) => void (location.hash = hash), hash)
  const [, kind, id = ''] = hash.split('/')
  const session = kind === 'session' ? decodeURIComponent(id) : ''
  await page.locator(`[data-testid=connection][data-state=live][data-session="${session}"]`).waitFor()
}

/** Holds the answers to a page's requests that match, as the daemon gives them now, until the test lets them go. */
export async function hold(page, pattern, isMeant = () => true) {
  let seen, letGo
  const asked = new Promise((resolve) => (seen = resolve))
  const free = new Promise((resolve) => (letGo = resolve))
  await page.route(pattern, async (route) => {
    if (!isMeant(route.request())) return route.fallback()
    const response = await route.fetch()
    seen()
    await free
    await route.fulfill({ response })
  })
  return { asked, letGo: async () => (letGo(), page.unroute(pattern, { behavior: 'wait' }).catch(() => undefined)) }
}

export const connection = (page, state) => page.locator(`[data-testid=connection][data-state=${state}]`).waitFor()
export const caughtUp = (page) => connection(page, 'live')
export const at = (page, id) => page.getByTestId(id)
export const press = (page, name) => page.getByRole('button', { name, exact: true }).first().click()
export const sees = (page, words) => page.getByText(words).first().waitFor()

export async function send(page, text, button = 'Send') {
  await page.getByRole('textbox', { name: 'Message', exact: true }).fill(text)
  await press(page, button)
}

/** Waits until as many turns of the open session have ended. */
export const ended = (page, number) => page.locator(`[data-testid=turn][data-state=ended] >> nth=${number - 1}`).waitFor()

/** Calls the daemon as another client does. */
export async function call(method, path, body, { token = given.token, url = given.url } = {}) {
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
  const response = await fetch(`${url}${path}`, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) })
  assert(response.ok, `${method} ${path}: ${response.status} ${await response.clone().text()}`)
  return response.status === 204 ? undefined : response.json()
}

const answers = createInterface({ input: process.stdin })[Symbol.asyncIterator]()

/** Asks the test that started this script to do something, and waits until it has. */
export async function ask(what) {
  console.log(`ask ${what}`)
  return (await answers.next()).value
}

/** Stands before a daemon at an address that stays; connections can be cut, and new ones led elsewhere. */
export async function proxy(target) {
  const open = new Set()
  let halved
  const server = net.createServer((client) => {
    const daemon = net.connect(Number(new URL(target).port), '127.0.0.1')
    for (const [one, other] of [[client, daemon], [daemon, client]]) {
      open.add(one)
      const pass = (bytes) => {
        if (one === client || halved === undefined || !bytes.includes(halved.mark)) return other.write(bytes)
        const { mark, done } = halved
        halved = undefined
        other.write(bytes.subarray(0, bytes.indexOf(mark) + mark.length), () => (cut(), done()))
      }
      one.on('data', pass).on('error', () => undefined)
      one.on('close', () => (open.delete(one), other.destroy()))
    }
  })
  await new Promise((listening) => server.listen(0, '127.0.0.1', listening))
  const cut = () => open.forEach((socket) => socket.destroy())
  const close = () => (server.close(), cut())
  /** Cuts all connections right behind the next bytes of the daemon that are these. */
  const cutAt = (mark) => new Promise((done) => (halved = { mark, done }))
  return { url: `http://127.0.0.1:${server.address().port}`, cut, cutAt, close, lead: (url) => (target = url) }
}
