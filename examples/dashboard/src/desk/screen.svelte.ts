// What the trader has chosen to look at.

export type Tab = 'orders' | 'positions' | 'fills' | 'settlements' | 'rounds' | 'history'
export type Place = 'markets' | 'chart' | 'book' | 'trade' | 'account'
export type Theme = 'auto' | 'light' | 'dark'

const THEME = 'duplex-theme'
const dark = matchMedia('(prefers-color-scheme: dark)')

function stored(): Theme {
  const t = localStorage.getItem(THEME)
  return t === 'light' || t === 'dark' ? t : 'auto'
}

class Screen {
  category = $state(1)
  tab = $state<Tab>('orders')
  place = $state<Place>('chart') // of a narrow screen, which shows one at a time
  book = $state<'yes' | 'no'>('yes')
  theme = $state<Theme>(stored())
  #system = $state(dark.matches)

  constructor() {
    dark.addEventListener('change', (e) => (this.#system = e.matches))
  }

  get shade(): 'light' | 'dark' {
    return this.theme === 'auto' ? (this.#system ? 'dark' : 'light') : this.theme
  }

  // turn goes to the other shade, and back to the system's when that is the same.
  turn(): void {
    const next = this.shade === 'dark' ? 'light' : 'dark'
    this.theme = (next === 'dark') === this.#system ? 'auto' : next
    localStorage.setItem(THEME, this.theme)
  }
}

export const screen = new Screen()
