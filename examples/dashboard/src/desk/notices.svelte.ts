import { Refused } from '../venue/rest.ts'
import { words } from './format.ts'

export type Tone = 'plain' | 'good' | 'bad'

export interface Notice {
  id: number
  tone: Tone
  text: string
  more: string
}

const SHOWN_MS = { plain: 5000, good: 5000, bad: 9000 }
const AT_ONCE = 4

// Meaning is what the portal's table says of an error.
interface Meaning {
  code: string
  means: string
  next: string
}

class Notices {
  list = $state<Notice[]>([])
  #id = 0
  #table: Promise<Meaning[]> | undefined

  tell(tone: Tone, text: string, more = ''): void {
    const id = ++this.#id
    this.list = [...this.list.slice(1 - AT_ONCE), { id, tone, text, more }]
    setTimeout(() => this.drop(id), SHOWN_MS[tone])
  }

  drop(id: number): void {
    this.list = this.list.filter((n) => n.id !== id)
  }

  // failed tells of an error in the venue's own words. What is no failure of the
  // venue or the network is a mistake of the page, and goes on as one.
  async failed(what: string, e: unknown): Promise<void> {
    if (e instanceof Refused) {
      const m = (await this.#meanings()).find((x) => x.code === e.code)
      this.tell('bad', `${what}: ${words(e.code)}`, m ? `${m.means} ${m.next}` : '')
    } else if (e instanceof TypeError) {
      this.tell('bad', `${what}: no answer`, 'The venue cannot be reached. Whether it was done shows once it can.')
    } else throw e
  }

  // meanings is empty if the portal has no table: the code then says enough.
  #meanings(): Promise<Meaning[]> {
    this.#table ??= fetch('/errors.json').then(
      async (r) => (r.ok ? ((await r.json()) as { errors: Meaning[] }).errors : []),
      () => [],
    )
    return this.#table
  }
}

export const notices = new Notices()
