// Tests the trading screen in a browser against `dx dev`. As many tracks as the machine has processors run
// side by side, each a process with its own venue and browser; the steps of a track run in order. The first
// failure ends its track.
//
//   node e2e/run.mjs [folder for screenshots] [words of the steps to run]
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { buildVenue } from './venue.mjs'

const TRACKS = ['long', 'rounds', 'wide', 'phone', 'screens', 'ticket', 'people', 'keys', 'consent', 'approvals', 'portfolio']
const ALONE = ['paint', 'idle'] // measure times

const [shots = mkdtempSync(join(tmpdir(), 'duplex-shots-')), words = ''] = process.argv.slice(2)
const built = mkdtempSync(join(tmpdir(), 'duplex-built-'))
const begun = Date.now()
const seconds = () => ((Date.now() - begun) / 1000).toFixed(0)

// Each track is a process group, so that nothing outlives it: what a crashed one leaves would hold its
// output open, and this process would wait for that.
const groups = new Set()
function end(group) {
  groups.delete(group)
  try {
    process.kill(-group, 'SIGKILL')
  } catch (e) {
    if (e.code !== 'ESRCH') throw e // nothing is left
  }
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  process.once(signal, () => {
    for (const group of groups) end(group)
    process.exit(1)
  })
}

// ran runs a track and reports whether it passed.
async function ran(track) {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`tracks/${track}.mjs`, import.meta.url)), shots, words], { env: { ...process.env, E2E_DX: join(built, 'dx') }, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  groups.add(child.pid)
  child.once('exit', () => end(child.pid))
  for (const lines of [child.stdout, child.stderr]) createInterface(lines).on('line', (line) => console.log(`${track.padEnd(8)} ${line}`))
  const code = await new Promise((resolve) => child.once('close', resolve))
  if (code !== 0) console.log(`${track.padEnd(8)} failed after ${seconds()} s`)
  return code === 0
}

try {
  buildVenue(join(built, 'dx'))
  const passed = []
  const next = TRACKS.values()
  const runsTracks = async () => {
    for (const track of next) passed.push(await ran(track))
  }
  await Promise.all(Array.from({ length: availableParallelism() }, runsTracks))
  for (const track of ALONE) passed.push(await ran(track))
  process.exitCode = passed.every(Boolean) ? 0 : 1
} finally {
  rmSync(built, { recursive: true, force: true })
}
console.log(`${seconds()} s; screenshots: ${shots}`)
