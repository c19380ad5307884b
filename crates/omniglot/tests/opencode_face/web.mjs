// Clicks through OpenCode's web page. Arguments: playwright's file, the browser, the page's origin, the face's
// URL, the token, a directory, the name of the model that is chosen at first, the prompts for a text, a
// permission, a question, a long turn, and what that turn says before it goes on for ever.
import assert from 'node:assert/strict'

const [
  playwright, executablePath, origin, face, token, directory, model, text, permission, question, long, begun,
] = process.argv.slice(2)
/** How long a page may take for one step. */
const PATIENCE = 60_000
/** The smallest picture. */
const PIXEL = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==', 'base64')
const { chromium } = await import(playwright)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage()
page.setDefaultTimeout(PATIENCE)
const errors = []
page.on('pageerror', (error) => errors.push(error.stack ?? error.message))
page.on('request', (request) => {
  const { hostname } = new URL(request.url())
  if (hostname !== '127.0.0.1' && hostname !== '') errors.push(`asked ${request.url()}`)
})
const told = (step) => console.log(step)

/** Waits until a text is on the page. */
const sees = (words) => page.getByText(words).last().waitFor()
const press = (name) => page.getByRole('button', { name }).last().click()
const send = async (words) => {
  const box = page.getByRole('textbox').last()
  await box.click()
  await page.keyboard.type(words)
  await page.getByRole('button', { name: 'Send' }).click()
  await box.filter({ hasText: words }).waitFor({ state: 'detached' })
}
/** The line below an answer, which has the time that it took, is there once for each finished turn. */
const finished = (turns) =>
  page.waitForFunction((turns) => (document.body.innerText.match(/ · \d+(m |s)/g) ?? []).length >= turns, turns)

try {
  await page.goto(origin)
  await page.getByText('Settings').first().click()
  await page.getByText('Servers').first().click()
  await press('Add server')
  await page.getByPlaceholder('http://localhost:4096').fill(face)
  await page.getByPlaceholder('Localhost', { exact: true }).fill('Omniglot')
  await page.getByPlaceholder('password', { exact: true }).fill(token)
  await press('Add server')
  await page.getByText('Omniglot').first().waitFor()
  await page.getByRole('dialog').getByRole('button', { name: 'More options' }).first().click()
  await page.getByText('Set as default').click()
  told('the server is known')

  // A page that still loads its agents drops a prompt without a word.
  const lists = ['agent', 'provider'].map((list) =>
    page.waitForResponse((response) => response.url().startsWith(`${face}/${list}?directory=`)))
  await page.goto(`${origin}/${Buffer.from(directory).toString('base64url')}/session`)
  await Promise.all((await Promise.all(lists)).map((response) => response.finished()))
  await sees(model)
  await page.locator('input[type=file]').last().setInputFiles({ name: 'pixel.png', mimeType: 'image/png', buffer: PIXEL })
  await send(text)
  await finished(1)
  told('text')

  await send(permission)
  await sees('Permission required')
  await press('Allow once')
  await finished(2)
  told('permission')

  await send(question)
  await sees('Select one answer')
  await page.getByText('Blue', { exact: true }).last().click()
  await press('Submit')
  await finished(3)
  told('question')

  await send(long)
  await sees(begun)
  await press('Stop')
  await sees(/interrupted/i)
  told('abort')

  // What is read anew is what was streamed.
  await page.reload()
  await sees(long)
  await finished(3)
  await page.waitForFunction(() => [...document.images].some((image) => image.alt === 'image.png' && image.naturalWidth > 0))
  assert.deepEqual(errors, [])
  console.log('all done')
} catch (error) {
  console.log('the page at the end:', await page.innerText('body').catch(() => 'gone'))
  console.log('errors of the page:', errors)
  throw error
} finally {
  await browser.close()
}
