import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// The portal allows no inline script and no inline style, so everything is a file.
// Names carry no hash: the portal tags each file by its content.
export default defineConfig({
  plugins: [svelte()],
  build: {
    target: 'es2023',
    cssTarget: 'es2023',
    assetsInlineLimit: 0,
    license: { fileName: 'licenses.md' },
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      output: { entryFileNames: 'assets/[name].js', chunkFileNames: 'assets/[name].js', assetFileNames: 'assets/[name][extname]' },
    },
  },
  worker: { format: 'es', rollupOptions: { output: { entryFileNames: 'assets/[name].js' } } },
})
