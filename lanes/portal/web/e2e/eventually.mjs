import assert from 'node:assert/strict'

// eventually repeats look until it returns something, and returns that. It fails after ms. every is the
// pause between two looks.
export async function eventually(what, look, ms = 60_000, every = 100) {
  const until = Date.now() + ms
  for (;;) {
    const found = await look()
    if (found) return found
    if (Date.now() > until) assert.fail(`${what}: not within ${ms} ms`)
    await new Promise((resolve) => setTimeout(resolve, every))
  }
}
