import { flushSync } from 'svelte'

// What the user has chosen to see.

export type Tab = 'orders' | 'positions' | 'fills' | 'settlements' | 'rounds' | 'history'
export type Place = 'chart' | 'ticket' | 'book' | 'account'
export type Page = 'trade' | 'portfolio' | 'agents' | 'approvals' | 'account'
export type Theme = 'auto' | 'light' | 'dark'

const THEME = 'duplex-theme'
const ENGINEER = 'duplex-engineer'
const SERIES = 'duplex-series'
const FIRST_SERIES = 3
const dark = matchMedia('(prefers-color-scheme: dark)')

// The page is in the fragment: the path /agents is a route of the portal.
const pageNow = (): Page => {
  const page = location.hash.split('/')[1]
  return page === 'portfolio' || page === 'agents' || page === 'approvals' || page === 'account' ? page : 'trade'
}

// approvalNow is the approval that the address names: #/approvals/ID.
const approvalNow = (): string => (pageNow() === 'approvals' ? (location.hash.split('/')[2] ?? '') : '')

function stored(): Theme {
  const t = localStorage.getItem(THEME)
  return t === 'light' || t === 'dark' ? t : 'auto'
}

// storedSeries returns the series shown last. The first one is Bitcoin 15 min: a newcomer needs the time to read.
function storedSeries(): number {
  const n = Number(localStorage.getItem(SERIES))
  return Number.isInteger(n) && n >= 1 && n <= 9 ? n : FIRST_SERIES
}

class Screen {
  page = $state<Page>(pageNow())
  approval = $state(approvalNow()) // approval_id of the address, or empty
  #category = $state(storedSeries())
  tab = $state<Tab>('orders')
  place = $state<Place>('chart') // the part that a narrow screen shows
  book = $state<'yes' | 'no'>('yes')
  theme = $state<Theme>(stored())
  engineer = $state(localStorage.getItem(ENGINEER) === 'on') // shows what a program would want to know
  #system = $state(dark.matches)

  constructor() {
    dark.addEventListener('change', (e) => (this.#system = e.matches))
    addEventListener('hashchange', () => {
      this.page = pageNow()
      this.approval = approvalNow()
    })
  }

  // category is the series that is shown.
  get category(): number {
    return this.#category
  }

  set category(n: number) {
    this.#category = n
    localStorage.setItem(SERIES, String(n))
  }

  get shade(): 'light' | 'dark' {
    return this.theme === 'auto' ? (this.#system ? 'dark' : 'light') : this.theme
  }

  // editing shows the table in which an order is changed, and puts the cursor into a field of it.
  editing(field: 'edit_price' | 'edit_qty'): void {
    this.tab = 'orders'
    this.place = 'account'
    this.enter(field)
  }

  // enter puts the cursor into a field at once, so that the next key is typed into it.
  enter(field: string): void {
    flushSync()
    document.querySelector<HTMLInputElement>(`[name="${field}"]`)?.select()
  }

  toggleEngineer(): void {
    this.engineer = !this.engineer
    localStorage.setItem(ENGINEER, this.engineer ? 'on' : 'off')
  }

  // toggleShade switches between light and dark, and follows the system if that is the same.
  toggleShade(): void {
    const next = this.shade === 'dark' ? 'light' : 'dark'
    this.theme = (next === 'dark') === this.#system ? 'auto' : next
    localStorage.setItem(THEME, this.theme)
  }
}

export const screen = new Screen()
