import { svelte } from '@sveltejs/vite-plugin-svelte'
import { defineConfig } from 'vite'

// The portal's content policy forbids inline scripts and styles, so everything is a file.
// File names have no hash: the portal's ETag depends on the content.
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
