// Package dashboard is the trading screen of the portal: Svelte and TypeScript under
// src, built by Vite into dist, which is committed and goes into the binary, so that
// `go build` needs no Node.
//
//	src/venue   how the page speaks with the venue: sign, REST, socket, clock
//	src/desk    what the page knows: books, tape, prices, rounds, the account
//	src/ui      what it shows of that
//	e2e         a browser against a whole `dx dev`
//
// `npm ci && npm run build` makes dist; .ci/dashboard proves that it did.
package dashboard

import (
	"embed"
	"io/fs"
)

//go:embed dist
var built embed.FS

// Files are the page with its index.html, as portal.Options.Static wants them.
func Files() fs.FS {
	files, err := fs.Sub(built, "dist")
	if err != nil {
		panic(err) // it is part of the binary
	}
	return files
}
