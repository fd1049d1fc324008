const DELAY_MS = 500

// PressDelay keeps a button from acting until it has been in its place, on a page in front, for half a second.
// What appears under the pointer between the two presses of a double click would otherwise take the second one.
export class PressDelay {
  over = $state(false)
  #timer = 0

  // watch restarts the delay whenever the page comes to the front or changes its size, until the returned
  // function is called.
  watch(): () => void {
    const restart = (): void => this.restart()
    const events = ['focus', 'blur', 'pageshow', 'resize'] as const
    for (const e of events) addEventListener(e, restart)
    document.addEventListener('visibilitychange', restart)
    this.restart()
    return () => {
      clearTimeout(this.#timer)
      for (const e of events) removeEventListener(e, restart)
      document.removeEventListener('visibilitychange', restart)
    }
  }

  restart(): void {
    this.over = false
    clearTimeout(this.#timer)
    if (document.visibilityState === 'visible' && document.hasFocus()) this.#timer = window.setTimeout(() => (this.over = true), DELAY_MS)
  }
}
