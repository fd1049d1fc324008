package admin

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"duplex/lanes/gate"
)

// embedded is the operator's page as `npm run build` in lanes/portal/web writes it from
// src/operator. It is committed, so that `go build` needs no Node.
//
//go:embed page
var embedded embed.FS

// pagePolicy allows the page its own script, style and icon, and requests to its own origin.
// svelte-trusted-html is the only policy that may turn text into markup.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types svelte-trusted-html"

// pageFile is one file of the page.
type pageFile struct {
	kind, tag   string
	body        []byte
	isImmutable bool // the name has a hash of the content
	gzipped     func() []byte
}

// pageFiles are the files of the page by path. Anybody who reaches the listener gets them: they
// hold nothing about the venue. They are read when a listener starts, because each run of dx pays
// for what a package does before main.
var pageFiles = sync.OnceValue(loadPage)

func loadPage() map[string]*pageFile {
	out := map[string]*pageFile{}
	err := fs.WalkDir(embedded, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := embedded.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		at := strings.TrimPrefix(name, "page")
		f := &pageFile{kind: mime.TypeByExtension(path.Ext(name)), tag: `"` + hex.EncodeToString(sum[:16]) + `"`, body: body, isImmutable: strings.HasPrefix(at, "/assets/")}
		f.gzipped = sync.OnceValue(func() []byte { return compress(body) })
		switch at {
		case "/index.html":
			at = "/"
		case "/licenses.md":
			f.kind = "text/plain; charset=utf-8"
		}
		out[at] = f
		return nil
	})
	if err != nil {
		panic(err) // the page is part of the binary
	}
	return out
}

// compress returns body as gzip, nil if that is not much smaller.
func compress(body []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(body)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // the level is valid, and a buffer takes every write
	}
	if out.Len() > len(body)*9/10 {
		return nil
	}
	return out.Bytes()
}

// pageFileOf returns the file of the page that a request is for, nil if it is for something else.
func pageFileOf(r *http.Request) *pageFile {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return nil
	}
	return pageFiles()[r.RequestURI]
}

// ServeHTTP writes the file.
func (f *pageFile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache") // the next version of the venue may serve another page
	if f.isImmutable {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	body, tag := f.body, f.tag
	if packed := f.gzipped(); packed != nil && gate.AcceptsCoding(r, "gzip") {
		h.Set("Content-Encoding", "gzip")
		body, tag = packed, strings.TrimSuffix(tag, `"`)+`-gzip"`
	}
	h.Set("ETag", tag)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// registerPage serves the files of the page.
func (l *lane) registerPage(m *gate.Routes) {
	for at, f := range pageFiles() {
		pattern := at
		if at == "/" {
			pattern = "/{$}"
		}
		m.HandleFunc("GET "+pattern, func(w http.ResponseWriter, r *http.Request) {
			setOp(r, "page")
			f.ServeHTTP(w, r)
		})
	}
}
