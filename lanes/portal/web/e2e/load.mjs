// Loads modules of the page into Node, for the unit tests: Vite compiles them.
import { after, before } from 'node:test'
import { createServer } from 'vite'

let server
export const load = (path) => server.ssrLoadModule(`/src/${path}`)

before(async () => {
  globalThis.requestAnimationFrame = (draw) => setTimeout(draw)
  globalThis.cancelAnimationFrame = clearTimeout
  server = await createServer({ root: new URL('..', import.meta.url).pathname, server: { middlewareMode: true, ws: false }, appType: 'custom', logLevel: 'error', optimizeDeps: { noDiscovery: true } })
})
after(() => server.close())
