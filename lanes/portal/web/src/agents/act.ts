import { notices } from '../shared/notices.svelte.ts'

// act shows what became of a request: that it is done, or why it did not work.
export async function act(what: string, does: Promise<void>, done = '', more = ''): Promise<void> {
  try {
    await does
    if (done) notices.show('plain', done, more)
  } catch (e) {
    await notices.failed(what, e)
  }
}
