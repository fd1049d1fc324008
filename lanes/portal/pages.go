package portal

import (
	"bytes"
	_ "embed"
	"html/template"
	"io/fs"
	"mime"
	"net/http"
	"path"

	"duplex/lanes/gate"
)

var (
	//go:embed page/index.html
	landing string
	//go:embed page/portal.css
	style []byte
	//go:embed page/frame.html
	frame string
	//go:embed page/errors.html
	errorsPage string
	//go:embed page/deprecation.html
	deprecationPage string
)

const html = "text/html; charset=utf-8"

// framed makes a page of its title and main part.
func framed(page string, facts any) []byte {
	var out bytes.Buffer
	t := template.Must(template.New("frame").Parse(frame))
	if err := template.Must(t.Parse(page)).Execute(&out, facts); err != nil {
		panic(err) // the template is part of the binary
	}
	return out.Bytes()
}

// pages serves the dashboard file by file, each under its own path and no other; or
// a plain page where there is no dashboard.
func (l *lane) pages(m *gate.Routes) {
	if l.Static == nil {
		l.show(m, "/{$}", html, l.landing())
		return
	}
	err := fs.WalkDir(l.Static, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
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
		l.show(m, at, kindOf(name, body), body)
		return nil
	})
	if err != nil {
		panic(err) // the dashboard is part of the binary
	}
}

func kindOf(name string, body []byte) string {
	if kind := mime.TypeByExtension(path.Ext(name)); kind != "" {
		return kind
	}
	return http.DetectContentType(body)
}

// landing is the plain page.
func (l *lane) landing() []byte {
	var out bytes.Buffer
	t := template.Must(template.New("landing").Parse(landing))
	if err := t.Execute(&out, l.facts()); err != nil {
		panic(err) // the template is part of the binary
	}
	return out.Bytes()
}

// facts are what page and guide tell of the venue.
type facts struct {
	Environment, Oracle string
	API, WS, MCP        string
	OpenAPI, AsyncAPI   bool
	Changelog           bool
}

func (l *lane) facts() facts {
	f := facts{
		Environment: l.Venue.Terms.Environment, Oracle: l.Venue.Terms.Oracle, API: l.API, WS: l.WS, MCP: l.MCP,
		OpenAPI: l.OpenAPI != nil, AsyncAPI: l.AsyncAPI != nil, Changelog: l.Changelog != nil,
	}
	if f.API == "" {
		f.API, f.WS = "https://{api-host}", "wss://{api-host}/v1/ws"
	}
	return f
}
