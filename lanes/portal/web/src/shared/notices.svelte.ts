import { VenueError } from '../venue/rest.ts'
import { words } from './format.ts'
import { errorOf } from './errors.ts'

export type Tone = 'plain' | 'good' | 'bad'

export interface Notice {
  id: number
  tone: Tone
  text: string
  more: string
  rule: string // address of the rule behind it, or empty
  act: Act | undefined
  exact: string // the error as the venue sent it, or empty
}

interface Act {
  label: string
  does: () => void
}

const SHOWN_MS = { plain: 5000, good: 5000, bad: 9000 }
const ACT_MS = 10_000
const AT_ONCE = 4
const TIMEOUT_MS = 3000 // for the table of errors

// Meaning is an entry of the portal's table of errors.
interface Meaning {
  code: string
  means: string
}

class Notices {
  list = $state<Notice[]>([])
  #id = 0
  #table: Promise<Meaning[]> | undefined

  show(tone: Tone, text: string, more = '', rule = '', act?: Act, exact = ''): void {
    const id = ++this.#id
    this.list = [...this.list.slice(1 - AT_ONCE), { id, tone, text, more, rule, act, exact }]
    setTimeout(() => this.drop(id), act ? ACT_MS : SHOWN_MS[tone])
  }

  drop(id: number): void {
    this.list = this.list.filter((n) => n.id !== id)
  }

  // failed shows an error with the venue's explanation and a link to its rule. It rethrows
  // anything that is not a rejection or a network failure, since that is a bug of the page.
  async failed(what: string, e: unknown): Promise<void> {
    if (e instanceof VenueError) {
      const m = await this.#find(e.code)
      const plain = errorOf(e) || m?.means || words(e.code)
      this.show('bad', `${what} did not work`, plain, m && `/rules/errors#${m.code}`, undefined, exactly(e))
    } else if (e instanceof TypeError) {
      this.show('bad', `${what}: no answer`, 'The venue cannot be reached. Once it can, the screen shows whether this happened.')
    } else throw e
  }

  // meaning returns what an error code means; '' if the portal has no table.
  async meaning(code: string): Promise<string> {
    return (await this.#find(code))?.means ?? ''
  }

  async #find(code: string): Promise<Meaning | undefined> {
    return (await this.#meanings()).find((m) => m.code === code)
  }

  // #meanings is empty if the table cannot be read; the notice then shows only the code, and the next
  // one reads again.
  async #meanings(): Promise<Meaning[]> {
    this.#table ??= fetch('/errors.json', { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(async (r) => ((await r.json()) as { errors: Meaning[] }).errors)
    try {
      return await this.#table
    } catch {
      this.#table = undefined
      return []
    }
  }
}

// exactly is an error as the venue sent it.
export function exactly(e: VenueError): string {
  return e.body === undefined ? e.code : JSON.stringify(e.body, null, 1)
}

export const notices = new Notices()
