// A transcript whose author wants to harm: nothing of it runs, nothing is invisible, and the page can still be used.
import assert from 'node:assert/strict'
import { at, ended, enter, play, send, visit } from './page.mjs'

/** So many characters may a transcript put into the page before somebody asks for more. */
const LONGEST = 200_000

await play(async () => {
  const page = await enter('#/session/hostile')
  await ended(page, 1)
  const messages = page.locator('[data-testid=message]')
  const found = await page.evaluate(() => ({
    hacked: window.hacked,
    made: document.querySelectorAll('#app script, #app iframe, #app object, #app embed, #app b, #app i, #app img[src="x"]').length,
    links: [...document.querySelectorAll('#app a')].map((link) => link.protocol).filter((protocol) => !['http:', 'https:'].includes(protocol)),
    foreign: [...document.querySelectorAll('#app [src]')].map((one) => one.src),
  }))
  assert.equal(found.hacked, undefined)
  assert.equal(found.made, 0)
  assert.deepEqual(found.links, [])
  assert.deepEqual(found.foreign, [])
  await messages.getByText("<img src=x onerror='window.hacked=1'>").first().waitFor()
  await messages.getByText('‹ESC›').first().waitFor()
  await messages.getByText('‹U+202E›').first().waitFor()
  await messages.getByText('<iframe src=//192.0.2.1></iframe>').first().waitFor()
  await at(page, 'unknown').getByText('an item of no known kind').waitFor()
  await page.getByRole('heading', { level: 1 }).getByText('<script>').waitFor()
  assert.equal(await page.evaluate(() => window.hacked), undefined)
  console.log('nothing ran, nothing is hidden')

  await visit(page, '#/session/hidden')
  await ended(page, 1)
  const [many, wide] = [at(page, 'diff').nth(0), at(page, 'diff').nth(1)]
  assert.equal(await many.getByText('+1000', { exact: true }).count(), 0)
  await page.getByRole('button', { name: 'Show more (401 lines left)' }).click()
  await many.getByText('+1000', { exact: true }).waitFor()
  await wide.getByRole('button', { name: /^Show more/ }).click()
  await wide.getByText(/xend$/).waitFor()
  await page.getByText('not a path of the daemon').waitFor()
  console.log('every line can be seen, and the token goes to the daemon alone')

  for (const session of ['long', 'unclosed', 'nested', 'slow', 'escapes', 'apart']) {
    await visit(page, `#/session/${session}`)
    await ended(page, 1)
    const length = await page.evaluate(() => document.getElementById('app').textContent.length)
    // Those of `slow` are many messages.
    if (session !== 'slow') assert(length <= LONGEST, `${length} characters of ${session} are in the page`)
    const nodes = await page.evaluate(() => document.evaluate('count(//node())', document).numberValue)
    assert(nodes <= LONGEST / 10, `${nodes} nodes of ${session} are in the page`)
    await send(page, '[[text]]')
    await ended(page, 2)
    await page.locator('[data-testid=message][data-role=assistant]').last().getByText('as a real model does.').waitFor()
    console.log(`${session}: ${length} characters, ${nodes} nodes`)
  }
})
