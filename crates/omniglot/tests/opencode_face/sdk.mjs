// Drives the OpenCode face with a published client. Arguments: v1|v2, the library's file, the face's URL,
// the token, a directory, the provider, and the prompts for a text, a permission, a question, a long turn.
import assert from 'node:assert/strict'

const [version, library, url, token, directory, provider, text, permission, question, long] = process.argv.slice(2)
const { createOpencodeClient } = await import(library)
const headers = { Authorization: 'Basic ' + Buffer.from(`opencode:${token}`).toString('base64') }
const client = createOpencodeClient({ baseUrl: url, directory, headers })
const old = version === 'v1'

// The two clients differ in the shape of their arguments and in how a permission is answered.
const call = (group, name, id, body) =>
  old ? client[group][name]({ path: { id }, body }) : client[group][name]({ sessionID: id, ...body })
const permit = (asked, reply) =>
  old
    ? client.postSessionIdPermissionsPermissionId({
        path: { id: asked.sessionID, permissionID: asked.id }, body: { response: reply },
      })
    : client.permission.reply({ requestID: asked.id, reply })
// The old client has no word for questions; its scripts ask the server themselves.
const answer = async (asked, answers) =>
  old
    ? { data: await (await fetch(`${url}/question/${asked.id}/reply`, {
        method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify({ answers }),
      })).json() }
    : client.question.reply({ requestID: asked.id, answers })

const events = []
const waiting = []
const subscription = await client.event.subscribe()
const reading = (async () => {
  for await (const event of subscription.stream) {
    events.push(event)
    for (const look of [...waiting]) look()
  }
})()

/** The first event from `from` on that is as wanted. */
const until = (wanted, from = 0) =>
  new Promise((resolve) => {
    const look = () => {
      const found = events.slice(from).find(wanted)
      if (!found) return
      if (waiting.includes(look)) waiting.splice(waiting.indexOf(look), 1)
      resolve(found)
    }
    waiting.push(look)
    look()
  })
const good = (answer) => {
  assert.equal(answer.error, undefined, JSON.stringify(answer.error))
  return answer.data
}
const texts = (parts) => parts.filter((part) => part.type === 'text').map((part) => part.text).join('')
const told = (step) => console.log(step)

await until((event) => event.type === 'server.connected')
told('connected')

const agents = good(await client.app.agents())
assert.ok(agents.some((agent) => agent.name === 'build'))
const { providers } = good(await client.config.providers())
const own = providers.find((one) => one.id === provider)
assert.ok(own, 'the agent is a provider')
const modelID = Object.keys(own.models)[0]
const model = { providerID: provider, modelID }
told('catalog')

const session = good(await (old ? client.session.create({ body: { title: 'From a script' } })
  : client.session.create({ title: 'From a script' })))
assert.match(session.id, /^ses_/)
assert.equal(session.title, 'From a script')
assert.equal(session.directory, directory)
const prompt = (words, more = {}) =>
  call('session', 'prompt', session.id, { model, parts: [{ type: 'text', text: words }], ...more })

// A text: the answer of the call is what the events told.
const first = good(await prompt(text))
assert.equal(first.info.role, 'assistant')
assert.ok(first.info.time.completed, 'the turn is over when the call answers')
const deltas = events.filter((event) => event.type === 'message.part.delta')
assert.ok(deltas.length > 1, 'the text was streamed')
assert.equal(deltas.map((event) => event.properties.delta).join(''), texts(first.parts))
await until((event) => event.type === 'session.idle' && event.properties.sessionID === session.id)
told('text')

// A permission, given once.
let from = events.length
let running = prompt(permission)
const asked = await until((event) => event.type === 'permission.asked', from)
assert.equal(asked.properties.sessionID, session.id)
assert.equal(good(await permit(asked.properties, 'once')), true)
await until((event) => event.type === 'permission.replied', from)
good(await running)
const parts = events.slice(from).filter((event) => event.type === 'message.part.updated')
const states = parts.map((event) => event.properties.part.state?.status).filter(Boolean)
assert.equal(states[0], 'pending', states.join())
assert.equal(states.at(-1), 'completed', states.join())
told('permission')

// A question, answered with a choice.
from = events.length
running = prompt(question)
const wanted = await until((event) => event.type === 'question.asked', from)
assert.deepEqual(wanted.properties.questions[0].options.map((option) => option.label), ['Red', 'Blue'])
assert.equal(good(await answer(wanted.properties, [['Blue']])), true)
await until((event) => event.type === 'question.replied', from)
assert.match(texts(good(await running).parts), /Blue/)
told('question')

// A long turn, sent without waiting and ended by an abort.
from = events.length
await call('session', 'promptAsync', session.id, { model, parts: [{ type: 'text', text: long }] })
await until((event) => event.type === 'message.part.delta', from)
const busy = good(await client.session.status())
assert.equal(busy[session.id].type, 'busy')
assert.equal(good(await call('session', 'abort', session.id)), true)
await until((event) => event.type === 'session.idle', from)
const ends = events.slice(from).filter((event) => event.type === 'message.updated' && event.properties.info.error)
assert.equal(ends[0].properties.info.error.name, 'MessageAbortedError')
assert.equal(events.slice(from).filter((event) => event.type === 'session.idle').length, 1)
told('abort')

// What is read afterwards is what was told.
const messages = good(await call('session', 'messages', session.id))
assert.equal(messages.filter((message) => message.info.role === 'user').length, 4)
assert.deepEqual(messages.slice(0, 3).map((message) => message.info.role), ['user', 'assistant', 'user'])
assert.equal(texts(messages[1].parts), texts(first.parts))
assert.equal(texts(messages[0].parts), text)
const ids = messages.map((message) => message.info.id)
assert.deepEqual(ids, [...ids].sort())
const list = good(await client.session.list())
assert.ok(list.some((one) => one.id === session.id))
good(await call('session', 'update', session.id, { title: 'Another name' }))
assert.equal(good(await call('session', 'get', session.id)).title, 'Another name')
assert.equal(good(await call('session', 'delete', session.id)), true)
assert.ok((await call('session', 'get', session.id)).error, 'a deleted session is gone')
told('afterwards')

// Without the password nobody gets in.
const stranger = createOpencodeClient({ baseUrl: url, directory })
assert.equal((await stranger.session.list()).response.status, 401)

console.log('all done')
process.exit(0)
