package portal

import (
	"bytes"
	_ "embed"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"

	"duplex/lanes/gate"
)

var (
	//go:embed page/index.html
	landingTemplate string
	//go:embed page/portal.css
	style []byte
	//go:embed page/frame.html
	frameTemplate string
	//go:embed page/errors.html
	errorsPage string
	//go:embed page/deprecation.html
	deprecationPage string
	//go:embed page/rules.html
	rulesTemplate string
)

const html = "text/html; charset=utf-8"

// renderPage renders a page in the common frame.
func renderPage(page string, data any) []byte {
	var out bytes.Buffer
	t := template.Must(template.New("frame").Parse(frameTemplate))
	if err := template.Must(t.Parse(page)).Execute(&out, data); err != nil {
		panic(err) // the template is part of the binary
	}
	return out.Bytes()
}

// registerPages serves each file of the dashboard under its own path, or a plain page if
// there is no dashboard. FILE.br and FILE.gz are not paths but encodings of FILE. What is in
// assets has a hash of its content in its name.
func (l *lane) registerPages(m *gate.Routes) {
	if l.Static == nil {
		l.serve(m, "/{$}", html, l.landing)
		return
	}
	err := fs.WalkDir(l.Static, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || isEncoding(name) || name == consentPage { // which needs its request
			return err
		}
		body, err := fs.ReadFile(l.Static, name)
		if err != nil {
			return err
		}
		at := "/" + name
		if name == "index.html" {
			at = "/{$}"
		}
		page := documentOf(kindOf(name, body), func() []byte { return body })
		page.isImmutable = strings.HasPrefix(name, "assets/")
		for _, coding := range contentCodings {
			if encoded, err := fs.ReadFile(l.Static, name+coding.suffix); err == nil {
				page.encoded = append(page.encoded, encodedBody{coding.name, encoded})
			}
		}
		m.Handle("GET "+at, page)
		return nil
	})
	if err != nil {
		panic(err) // the dashboard is part of the binary
	}
}

// contentCodings are the encodings of a file, the smallest first.
var contentCodings = []struct{ name, suffix string }{{"br", ".br"}, {"gzip", ".gz"}}

// isEncoding reports whether a file is an encoding of another one.
func isEncoding(name string) bool {
	return slices.ContainsFunc(contentCodings, func(c struct{ name, suffix string }) bool { return strings.HasSuffix(name, c.suffix) })
}

// kindOf returns the media type of a file.
func kindOf(name string, body []byte) string {
	if path.Ext(name) == ".webmanifest" {
		return "application/manifest+json" // no system's table of types is sure to have it
	}
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return http.DetectContentType(body)
}

// landing returns the start page of a venue without the dashboard.
func (l *lane) landing() []byte {
	var out bytes.Buffer
	t := template.Must(template.New("landing").Parse(landingTemplate))
	if err := t.Execute(&out, l.venueData()); err != nil {
		panic(err) // the template is part of the binary
	}
	return out.Bytes()
}

// venueData is the data about the venue on pages and guides.
type venueData struct {
	Environment, Oracle string
	API, WS, MCP        string
	OpenAPI, AsyncAPI   bool
	Changelog           bool
}

func (l *lane) venueData() venueData {
	f := venueData{
		Environment: l.Venue.Config.Environment, Oracle: l.Venue.Config.Oracle, API: l.API, WS: l.WS, MCP: l.MCP,
		OpenAPI: l.OpenAPI != nil, AsyncAPI: l.AsyncAPI != nil, Changelog: l.Changelog != nil,
	}
	if f.API == "" {
		f.API, f.WS = "https://{api-host}", "wss://{api-host}/v1/ws"
	}
	return f
}
