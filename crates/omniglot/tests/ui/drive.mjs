// Everything that a person can do with a session beside talking: settings, files, tasks, pictures, steering, compaction,
// revert and fork; and with agents.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { at, call, ended, enter, given, play, press, sees, send, visit } from './page.mjs'

await play(async () => {
  const directory = `${given.directory}/lake`
  mkdirSync(`${directory}/reeds`, { recursive: true })
  writeFileSync(`${directory}/README.md`, 'One line.\n')
  await call('POST', '/v1/sessions/before', { agent: 'mock', directory })

  const page = await enter('#/new')
  const form = page.getByRole('form', { name: 'New session' })
  await form.getByLabel('Agent', { exact: true }).selectOption('mock')
  await form.getByRole('button', { name: directory, exact: true }).click()
  await form.getByRole('button', { name: 'Browse' }).click()
  const picker = form.getByRole('group', { name: 'Directories' })
  await picker.getByRole('button', { name: 'reeds/' }).click()
  await picker.getByText('No directory below this one.').waitFor()
  assert.equal(await form.getByLabel('Directory', { exact: true }).inputValue(), `${directory}/reeds`)
  await picker.getByRole('button', { name: '↑ ..' }).click()
  await picker.getByRole('button', { name: 'reeds/' }).waitFor()
  assert.equal(await form.getByLabel('Directory', { exact: true }).inputValue(), directory)
  console.log('picked a directory')

  await form.getByText('Permissions, worktree, MCP servers').click()
  await form.getByRole('button', { name: '+ MCP server' }).click()
  await form.getByRole('textbox', { name: 'Name of the MCP server' }).fill('birds')
  await form.getByRole('textbox', { name: 'Command or URL' }).fill("bird-server --lake 'Great Lake'")
  await page.getByLabel('Files to attach').setInputFiles({ name: 'herons.txt', mimeType: 'text/plain', buffer: Buffer.from('three') })
  await page.getByRole('list', { name: 'Attachments' }).getByText('herons.txt').waitFor()
  const prompt = form.getByRole('textbox', { name: 'Prompt' })
  await prompt.fill('[[mcp]] [[attachments]]')
  let created = 0
  page.on('request', (request) => (created += request.method() === 'POST' && /\/v1\/sessions\/\w+$/.test(request.url()) ? 1 : 0))
  await prompt.press('Control+Enter')
  await prompt.press('Control+Enter').catch(() => undefined)
  await ended(page, 1)
  assert.equal(created, 1, 'one session is made')
  await sees(page, /birds/)
  await sees(page, /herons\.txt/)
  const session = decodeURIComponent((await page.evaluate(() => location.hash)).split('/')[2])
  console.log('began with an MCP server and a file')

  const panel = page.getByRole('complementary', { name: 'Session state' })
  const choose = async (label, value, key, name) => {
    await panel.getByLabel(label, { exact: true }).selectOption(value)
    for (let now; now !== value; ) {
      const info = await call('GET', `/v1/sessions/${session}`)
      now = info.state?.[key] ?? info[name]
    }
  }
  await choose('Model', 'mock-large', 'model', 'model')
  await choose('Effort', 'high', 'variant', 'variant')
  for (const mode of ['acceptEdits', 'default']) await choose('Mode', mode, 'agent_mode', 'agentMode')
  for (const mode of ['acceptEdits', 'default']) await choose('Permissions', mode, 'permission_mode', 'permissionMode')
  console.log('chose model, effort, mode and rule of permissions')

  await send(page, '[[commands]] [[plan]] [[image]] [[shell]] [[shell:fail]] [[usage]]')
  await ended(page, 2)
  await at(page, 'todos').getByRole('listitem').first().waitFor()
  await page.locator('img.picture').first().waitFor()
  await page.waitForFunction(() => document.querySelector('img.picture').naturalWidth > 0)
  await at(page, 'tool').getByText('exit 3', { exact: true }).waitFor()
  await at(page, 'output').first().waitFor()
  await panel.getByRole('progressbar', { name: 'Context' }).waitFor()
  console.log('tasks, a picture, an exit code and the context')

  await send(page, '[[edit]]')
  await press(page, 'Allow once')
  await ended(page, 3)
  const changed = readFileSync(`${directory}/README.md`, 'utf8')
  assert.notEqual(changed, 'One line.\n')
  await page.getByRole('link', { name: 'Changes' }).click()
  await at(page, 'change').first().waitFor()
  await page.getByRole('button', { name: 'By turn' }).click()
  await page.getByText('Turn 3', { exact: true }).waitFor()
  await page.getByRole('link', { name: 'Transcript' }).click()
  const act = async (name) => {
    await press(page, 'More')
    await page.getByRole('menuitem', { name, exact: true }).click()
  }
  await act('Revert last turn')
  await at(page, 'notice').getByText('1 file restored').waitFor()
  assert.equal(readFileSync(`${directory}/README.md`, 'utf8'), 'One line.\n')
  await act('Undo revert')
  await at(page, 'notice').getByText('1 file brought back').waitFor()
  assert.equal(readFileSync(`${directory}/README.md`, 'utf8'), changed)
  console.log('reverted and brought back')

  await act('Rename')
  await page.getByRole('textbox', { name: 'Title' }).fill('The lake')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { level: 1, name: 'The lake' }).waitFor()

  await send(page, '[[text:3]] [[silence]]')
  await page.locator('[data-testid=turn][data-state=running]').waitFor()
  await send(page, 'Steered. [[text:2]]', 'Steer')
  // The mock agent takes no words while it works: they are queued, which is told.
  await at(page, 'notice').getByText('The agent takes no words while it works').waitFor()
  await press(page, 'Cancel turn')
  await ended(page, 5)
  console.log('steered')

  await act('Compact')
  await at(page, 'status').getByText(/compact/i).first().waitFor()
  await page.locator('[data-testid=session-state][data-state=idle]').waitFor()
  await act('Fork')
  await page.waitForFunction((session) => !location.hash.includes(session), session)
  await sees(page, /forked from/)
  await at(page, 'message').getByText('[[edit]]').first().waitFor()
  await page.getByText('copied').first().waitFor()
  console.log('forked')

  await act('End session')
  await page.locator('[data-testid=session-state][data-state=ended]').waitFor()
  page.on('dialog', (dialog) => dialog.accept())
  await act('Delete')
  await at(page, 'session-row').first().waitFor()

  await visit(page, '#/agents')
  const mock = page.getByRole('article', { name: 'mock', exact: true })
  await mock.getByRole('button', { name: 'Check' }).click()
  await mock.getByText('Accepts prompts').waitFor()
  console.log('checked an agent')
})
