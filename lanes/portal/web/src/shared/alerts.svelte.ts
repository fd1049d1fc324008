// Alerts inform the user of what happens while they look elsewhere: by a sound, and by a
// notification of the browser. Both are off until the user turns them on.

export type Event = 'fill' | 'settlement' | 'approval' | 'disconnect'

const STORE = 'duplex-alerts'

interface Settings {
  sound: boolean
  browser: boolean
  fill: boolean
  settlement: boolean
  approval: boolean
  disconnect: boolean
}

const initial: Settings = { sound: false, browser: false, fill: true, settlement: true, approval: true, disconnect: true }

function stored(): Settings {
  try {
    return { ...initial, ...(JSON.parse(localStorage.getItem(STORE) ?? '{}') as Partial<Settings>) }
  } catch {
    return initial
  }
}

const PITCH: Record<Event, number> = { fill: 880, settlement: 660, approval: 550, disconnect: 220 }

class Alerts {
  settings = $state<Settings>(stored())
  #audio: AudioContext | undefined
  #browserChanges = 0

  // set changes a setting. It asks the browser for permission first, which the user can refuse.
  async set(name: keyof Settings, on: boolean): Promise<void> {
    if (name === 'browser' && !(await this.#permitted(on))) return
    this.settings[name] = on
    localStorage.setItem(STORE, JSON.stringify(this.settings))
    if (name === 'sound' && on) this.#beep('fill')
  }

  // permitted tells whether the setting of browser notifications may change. A change made while the browser
  // asks the user counts instead of this one.
  async #permitted(on: boolean): Promise<boolean> {
    const mine = ++this.#browserChanges
    if (!on) return true
    if (typeof Notification === 'undefined') return false
    return (await Notification.requestPermission()) === 'granted' && mine === this.#browserChanges
  }

  raise(event: Event, text: string): void {
    if (!this.settings[event]) return
    if (this.settings.sound) this.#beep(event)
    if (this.settings.browser && document.hidden && Notification.permission === 'granted') this.#notify(event, text)
  }

  // notify does nothing on Android, where a page makes no notification by itself: the constructor throws.
  #notify(event: Event, text: string): void {
    try {
      new Notification('Duplex', { body: text, tag: event, icon: '/icon.svg' })
    } catch (e) {
      if (!(e instanceof TypeError)) throw e
    }
  }

  // beep is silent until the user has touched the page: the browser plays nothing before.
  #beep(event: Event): void {
    if (!navigator.userActivation.hasBeenActive) return
    const audio = (this.#audio ??= new AudioContext())
    const tone = audio.createOscillator()
    const volume = audio.createGain()
    tone.frequency.value = PITCH[event]
    volume.gain.setValueAtTime(0.08, audio.currentTime)
    volume.gain.exponentialRampToValueAtTime(0.001, audio.currentTime + 0.18)
    tone.connect(volume).connect(audio.destination)
    tone.start()
    tone.stop(audio.currentTime + 0.2)
  }
}

export const alerts = new Alerts()
