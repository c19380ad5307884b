// A session of a hundred thousand events: few turns are in the page at any time, memory is bounded, every turn can be
// reached, and what comes is still shown.
import assert from 'node:assert/strict'
import { enter, play, send } from './page.mjs'

await play(async () => {
  const page = await enter('#/session/big')
  const said = (words) => page.getByTestId('message').getByText(words).first()
  await said('Message 2000.').waitFor()
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Performance.enable')
  const bounded = async () => {
    const [turns, nodes] = await page.evaluate(() => ['[data-testid=turn]', '*'].map((what) => document.querySelectorAll(what).length))
    await devtools.send('HeapProfiler.collectGarbage')
    const { metrics } = await devtools.send('Performance.getMetrics')
    const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize').value
    assert(turns > 0 && turns <= 60, `${turns} turns are in the page`)
    assert(nodes <= 6_000, `${nodes} nodes are in the page`)
    assert(heap <= 150 * 2 ** 20, `${heap} bytes of heap`)
    console.log(`${turns} turns, ${nodes} nodes, ${Math.round(heap / 2 ** 20)} MiB`)
  }
  await bounded()
  const pane = page.getByRole('region', { name: 'Transcript' })
  for (const part of [0, 0.25, 0.5, 0.75]) {
    await pane.evaluate((pane, part) => void (pane.scrollTop = part * pane.scrollHeight), part)
    // A turn about as far in the session stands in the middle of the pane.
    await page.waitForFunction((part) => {
      const box = document.querySelector('.turns-pane').getBoundingClientRect()
      const turn = document.elementFromPoint(box.left + box.width / 2, box.top + box.height / 2)?.closest('[data-testid=turn]')
      const number = Number(turn?.getAttribute('aria-label').split(' ')[1] ?? NaN)
      return Math.abs(number / 2_000 - part) < 0.1
    }, part)
    await bounded()
  }
  await pane.evaluate((pane) => void (pane.scrollTop = 0))
  await said(/^Message 1\.$/).waitFor()
  const jump = page.getByLabel('Jump to turn')
  await jump.selectOption({ label: '1600. Message 1600.' })
  await said(/^Message 1600\.$/).waitFor()
  for (let list = 0; list < 3; list += 1) await jump.selectOption({ label: 'Earlier turns…' })
  await jump.selectOption({ label: '7. Message 7.' })
  await said(/^Message 7\.$/).waitFor()
  await bounded()
  console.log('every turn can be reached')

  await page.getByRole('button', { name: 'To the end' }).click()
  await send(page, 'The last one. [[text]]')
  await said('as a real model does.').waitFor()
  await bounded()
})
