import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// The operator's page: lanes/admin embeds the output. As on the portal, everything is a file of
// its own, because the content policy forbids inline scripts and styles.
export default defineConfig({
  root: 'src/operator',
  publicDir: false,
  plugins: [svelte({ configFile: '../../svelte.config.js' })],
  build: {
    outDir: '../../../../admin/page',
    emptyOutDir: true,
    target: 'es2023',
    cssTarget: 'es2023',
    assetsInlineLimit: 0,
    license: { fileName: 'licenses.md' },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
})
