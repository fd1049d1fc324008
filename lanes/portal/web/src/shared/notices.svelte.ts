import { VenueError } from '../venue/rest.ts'
import type { Fill } from '../venue/wire.ts'
import { cents, fine, grouped, words } from './format.ts'
import { failureOf } from './errors.ts'

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

// Burst is what the notice of fills has of those that came while it was shown.
interface Burst {
  id: number
  n: number
  series: Set<string>
  sums: Map<string, number> // contracts, by what was done: "bought YES"
  fees: number // pips
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
  #burst: Burst | undefined
  readonly #ends = new Map<number, ReturnType<typeof setTimeout>>()
  #table: Promise<Meaning[]> | undefined

  show(tone: Tone, text: string, more = '', rule = '', act?: Act, exact = ''): void {
    const n = { id: ++this.#id, tone, text, more, rule, act, exact }
    this.list = [...this.list.slice(1 - AT_ONCE), n]
    this.#lasts(n, act ? ACT_MS : SHOWN_MS[tone])
  }

  #lasts(n: Notice, ms: number): void {
    clearTimeout(this.#ends.get(n.id))
    this.#ends.set(n.id, setTimeout(() => this.drop(n.id), ms))
  }

  drop(id: number): void {
    clearTimeout(this.#ends.get(id))
    this.#ends.delete(id)
    this.list = this.list.filter((n) => n.id !== id)
  }

  // line is the notice that a page shows where it has room for one: an error or an Undo before what only tells.
  get line(): Notice | undefined {
    return this.list.findLast((n) => n.tone === 'bad' || n.act) ?? this.list.at(-1)
  }

  // filled shows a fill in a series. Those that come while its notice is shown are counted in that one.
  filled(f: Fill, series: string, more = ''): void {
    const name = f.outcome.toUpperCase()
    const did = f.side === 'buy' ? 'bought' : 'sold'
    const shown = this.list.find((n) => n.id === this.#burst?.id)
    if (!shown || !this.#burst) {
      this.show('good', `Filled: ${did} ${f.qty} ${name} at ${cents(f.outcome === 'yes' ? f.tick_yes : 10000 - f.tick_yes)}¢`, `Fee ${fine(Number(f.fee))}${more}`)
      this.#burst = { id: this.#id, n: 1, series: new Set([series]), sums: new Map([[`${did} ${name}`, f.qty]]), fees: Number(f.fee) }
      return
    }
    const b = this.#burst
    b.n += 1
    b.series.add(series)
    b.sums.set(`${did} ${name}`, (b.sums.get(`${did} ${name}`) ?? 0) + f.qty)
    b.fees += Number(f.fee)
    const sums = [...b.sums].map(([what, qty]) => what.replace(' ', ` ${grouped(qty)} `)).join(', ')
    const all = { ...shown, text: `${grouped(b.n)} fills of ${b.series.size === 1 ? series : `${b.series.size} series`}`, more: `${sums}; fees ${fine(b.fees)}` }
    this.list = this.list.map((n) => (n.id === b.id ? all : n))
    this.#lasts(all, SHOWN_MS.good)
  }

  // failed shows an error with the venue's explanation and a link to its rule. It rethrows
  // anything that is not a rejection or a network failure, since that is a bug of the page.
  async failed(what: string, e: unknown): Promise<void> {
    if (e instanceof VenueError) {
      const m = await this.#find(e.code)
      const plain = failureOf(what, e) || m?.means || words(e.code)
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
