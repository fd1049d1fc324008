import { VenueClock } from './clock.ts'
import { importSecret, type Credentials } from './sign.ts'

// VenueInfo is what the portal says about the venue: its addresses and environment.
export interface VenueInfo {
  environment: string
  oracle: string
  api: string
  ws: string
  mcp: string
  dev_key: boolean
}

// readVenueInfo reads it and returns a clock set from the portal's Date header, which is
// accurate enough to sign with if this computer's clock is wrong.
export async function readVenueInfo(): Promise<{ venueInfo: VenueInfo; clock: VenueClock }> {
  const answer = await fetch('/venue.json', { cache: 'no-store' })
  if (!answer.ok) throw new Error(`the portal returned status ${answer.status}`)
  const clock = new VenueClock()
  clock.dated(answer.headers.get('Date'), Date.now())
  return { venueInfo: (await answer.json()) as VenueInfo, clock }
}

// acceptedAddress returns the address from which the API accepts this page; undefined if this is it. The
// API knows the portal as 127.0.0.1, and localhost is a different origin.
export function acceptedAddress(venueInfo: VenueInfo, here: Location): string | undefined {
  const api = new URL(venueInfo.api)
  return here.hostname === 'localhost' && api.hostname === '127.0.0.1' ? here.href.replace('//localhost', '//127.0.0.1') : undefined
}

// fetchDevKey requests the key of `trader` from the portal of a dev venue.
export async function fetchDevKey(): Promise<Credentials> {
  const answer = await fetch('/dev/key', { method: 'POST' })
  if (!answer.ok) throw new Error(`the portal returned status ${answer.status}`)
  const lent = (await answer.json()) as { name: string; api_key: string; secret: string }
  return { id: lent.api_key, key: await importSecret(lent.secret), name: lent.name }
}
