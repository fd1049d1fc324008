import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig, type Plugin } from 'vite'

const WORTH = 1000 // bytes: smaller files are not compressed

// compressed writes FILE.br and FILE.gz beside each text file. The portal serves them as FILE.
function compressed(): Plugin {
  let folder = ''
  return {
    name: 'compressed',
    apply: 'build',
    configResolved: (config) => void (folder = resolve(config.root, config.build.outDir)),
    closeBundle() {
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(js|css|html|svg|md|webmanifest)$/.test(name)) continue
        const file = join(folder, name)
        const body = readFileSync(file)
        if (body.length < WORTH) continue
        writeFileSync(`${file}.br`, brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: body.length } }))
        writeFileSync(`${file}.gz`, gzipSync(body, { level: 9 }))
      }
    },
  }
}

// The portal's content policy forbids inline scripts and styles, so everything is a file. Names
// in assets have a hash of the content, so that browsers may keep them for good.
export default defineConfig({
  plugins: [svelte(), compressed()],
  build: {
    target: 'es2023',
    cssTarget: 'es2023',
    assetsInlineLimit: 0,
    license: { fileName: 'licenses.md' },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    // The screen and the page of consent (docs/rules/oauth.md#consent), with what both use in one chunk.
    rolldownOptions: { input: ['index.html', 'consent.html'], output: { codeSplitting: { groups: [{ name: 'index-shared', minShareCount: 2 }] } } },
  },
  worker: { format: 'es' },
})
