// Walks through OpenCode's web page as a person does who has never seen it: every step is a click or a text that is
// typed, from the first screen on. Arguments: playwright's file, the browser, the page's origin, the face's URL, the
// token, a directory, the title of a session that is there already, `looks` for a person who changes nothing.
import assert from 'node:assert/strict'
import { basename } from 'node:path'

const [playwright, executablePath, origin, face, token, directory, title, role] = process.argv.slice(2)
/** How long a page may take for one step. */
const PATIENCE = 60_000
const { chromium } = await import(playwright)
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
page.setDefaultTimeout(PATIENCE)
const errors = []
page.on('pageerror', (error) => errors.push(error.stack ?? error.message))
const told = (step) => console.log(step)
const sees = (words) => page.getByText(words).last().waitFor()
const press = (name) => page.getByRole('button', { name }).last().click()
const dialog = () => page.getByRole('dialog').last()

try {
  await page.goto(origin)
  await page.getByText('Settings').first().click()
  await page.getByText('Servers').first().click()
  await press('Add server')
  await page.getByPlaceholder('http://localhost:4096').fill(face)
  await page.getByPlaceholder('Localhost', { exact: true }).fill('Omniglot')
  await page.getByPlaceholder('password', { exact: true }).fill(token)
  await press('Add server')
  await dialog().getByText('Omniglot').waitFor()
  await dialog().getByRole('button', { name: 'More options' }).first().click()
  await page.getByText('Set as default').click()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Escape')
  await dialog().waitFor({ state: 'detached' })
  told('the server is known')

  await page.getByRole('button', { name: 'Omniglot' }).click()
  await page.getByRole('button', { name: 'Omniglot' }).hover()
  await press('Add project')
  await dialog().getByRole('textbox').first().fill(directory.slice(0, -1))
  await dialog().getByText(basename(directory), { exact: true }).last().click()
  told('the project is open')

  await page.getByRole('button', { name: title }).click()
  await sees('as a real model does.')
  told('the session is found')
  if (role !== 'looks') await work()
  assert.deepEqual(errors, [])
  console.log('all done')
} catch (error) {
  console.log('the page at the end:', await page.innerText('body').catch(() => 'gone'))
  console.log('errors of the page:', errors)
  throw error
} finally {
  await browser.close()
}

async function work() {
  await page.getByRole('textbox').last().click()
  await page.keyboard.type('[[edit]]')
  await press('Send')
  await sees('Permission required')
  await press('Allow once')
  await sees('Done: README.md has one more line at the end.')
  told('the permission is answered')

  await press('Toggle review')
  await sees('Last turn changes')
  await page.getByRole('button', { name: 'Unified diff' }).waitFor()
  // The lines of a diff stand in a shadow tree, which locators see through.
  await sees(/added by the Omniglot mock agent/)
  told('the diff is shown')
}
