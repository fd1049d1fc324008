import type { Credentials } from './sign.ts'

// The key store keeps one key in IndexedDB, which stores a CryptoKey without exposing its bytes
// to the page.

const STORE = 'keys'
const SLOT = 'signed-in'

function open(): Promise<IDBDatabase> {
  const request = indexedDB.open('duplex', 1)
  request.onupgradeneeded = () => request.result.createObjectStore(STORE)
  return settled(request)
}

function settled<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result)
    request.onerror = () => reject(request.error ?? new Error('IndexedDB failed'))
  })
}

async function inStore<T>(mode: IDBTransactionMode, act: (store: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await open()
  try {
    return await settled(act(db.transaction(STORE, mode).objectStore(STORE)))
  } finally {
    db.close()
  }
}

export async function loadKey(): Promise<Credentials | undefined> {
  return inStore('readonly', (s) => s.get(SLOT) as IDBRequest<Credentials | undefined>)
}

const OUT = 'duplex-signed-out'

// signedOut reports whether the user has signed out. Then the key that a venue lends is not taken until the user signs
// in again.
export function signedOut(): boolean {
  return localStorage.getItem(OUT) !== null
}

// rememberSignedOut lasts over reloads, until the next sign-in.
export function rememberSignedOut(is: boolean): void {
  if (is) localStorage.setItem(OUT, '1')
  else localStorage.removeItem(OUT)
}

export async function saveKey(c: Credentials): Promise<void> {
  await inStore('readwrite', (s) => s.put(c, SLOT))
}

export async function deleteKey(): Promise<void> {
  await inStore('readwrite', (s) => s.delete(SLOT))
}
