package arena

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"strings"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{"money": money, "decimal": decimal, "chance": chance, "interval": interval, "score": scoreText, "color": func(i int) template.CSS { return template.CSS(seatColor(i)) }, "count": count}).Parse(pageText))

// fill returns a page of a template.
func fill(t *template.Template, x any) ([]byte, error) {
	var b bytes.Buffer
	err := t.Execute(&b, x)
	return b.Bytes(), err
}

// page returns the report as one page that loads nothing.
func (r *Report) page(name string) ([]byte, error) {
	x := struct {
		*Report
		Name        string
		Equity      template.HTML
		Calibration template.HTML
		Profits     template.HTML
	}{Report: r, Name: name, Equity: r.equityChart(), Calibration: r.calibrationChart(), Profits: r.profitChart()}
	return fill(pageTemplate, &x)
}

// decimal is a number with four decimals.
func decimal(x float64) string {
	return strings.Replace(fmt.Sprintf("%.4f", x), "-", "−", 1)
}

// chance is a p for people.
func chance(p *float64) string {
	switch {
	case p == nil:
		return "–"
	case *p < 0.0001:
		return "< 0.0001"
	}
	return fmt.Sprintf("%.4f", *p)
}
