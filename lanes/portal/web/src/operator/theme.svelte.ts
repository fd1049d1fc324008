// Light or dark, as the system says unless the operator chose.

const dark = matchMedia('(prefers-color-scheme: dark)')

class Theme {
  #system = $state(dark.matches)
  #chosen = $state<boolean>()

  constructor() {
    dark.addEventListener('change', (e) => (this.#system = e.matches))
  }

  get shade(): 'light' | 'dark' {
    return (this.#chosen ?? this.#system) ? 'dark' : 'light'
  }

  toggle(): void {
    this.#chosen = this.shade === 'light'
  }
}

export const theme = new Theme()
