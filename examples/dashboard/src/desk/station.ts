import { VenueClock } from '../venue/clock.ts'
import { importSecret, type Credentials } from '../venue/sign.ts'

// Station is where the venue is, as the portal tells it.
export interface Station {
  environment: string
  oracle: string
  api: string
  ws: string
  mcp: string
  dev_key: boolean
}

// readStation gives it, and a clock that the portal's Date has set: well enough to
// sign with where this computer's is off.
export async function readStation(): Promise<{ station: Station; clock: VenueClock }> {
  const answer = await fetch('/venue.json', { cache: 'no-store' })
  if (!answer.ok) throw new Error(`The portal answered ${answer.status}`)
  const clock = new VenueClock()
  clock.dated(answer.headers.get('Date'), Date.now())
  return { station: (await answer.json()) as Station, clock }
}

// moved gives the address under which the API lets this page in: it knows the portal
// by one name, and localhost is another.
export function moved(station: Station, here: Location): string | undefined {
  const api = new URL(station.api)
  return here.hostname === 'localhost' && api.hostname === '127.0.0.1' ? here.href.replace('//localhost', '//127.0.0.1') : undefined
}

// lentKey asks the portal of a dev venue for its trader's key.
export async function lentKey(): Promise<Credentials> {
  const answer = await fetch('/dev/key', { method: 'POST' })
  if (!answer.ok) throw new Error(`The portal answered ${answer.status}`)
  const lent = (await answer.json()) as { name: string; api_key: string; secret: string }
  return { id: lent.api_key, key: await importSecret(lent.secret), name: lent.name }
}
