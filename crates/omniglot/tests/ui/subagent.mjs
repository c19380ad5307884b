// A subagent's work stands as a tree below the call that began it, and nowhere else.
import assert from 'node:assert/strict'
import { at, enter, given, play } from './page.mjs'

await play(async () => {
  const page = await enter(`#/session/${encodeURIComponent(given.session)}`)
  const tree = page.locator('[data-testid=tool] [data-testid=children]').first()
  await tree.waitFor({ state: 'attached' })
  const inside = await tree.locator('[data-item]').evaluateAll((items) => items.map((item) => item.dataset.item))
  assert(inside.length > 0, 'the tree is empty')
  for (const item of inside) assert.equal(await at(page, 'children').locator(`[data-item="${item}"]`).count(), await page.locator(`[data-item="${item}"]`).count(), item)
})
