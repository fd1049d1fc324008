// Package metrics keeps the metrics of a part of the venue as a table: a row has the name, the help text and the kind of
// a metric, and how its values are read.
package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
)

// Metric is a counter or gauge with its name, help and labels. Durations and ages are in seconds.
type Metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// Counter is a value that only rises. Its name begins with duplex_ on the page.
func Counter(name, help string, labels ...string) Metric {
	return Metric{prometheus.NewDesc("duplex_"+name, help, labels, nil), prometheus.CounterValue}
}

// Gauge is a value that rises and falls. Its name begins with duplex_ on the page.
func Gauge(name, help string, labels ...string) Metric {
	return Metric{prometheus.NewDesc("duplex_"+name, help, labels, nil), prometheus.GaugeValue}
}

// Put writes a value with the values of the labels.
func (m Metric) Put(out chan<- prometheus.Metric, v float64, labels ...string) {
	out <- prometheus.MustNewConstMetric(m.desc, m.kind, v, labels...)
}

// Bool is 1 for true.
func Bool(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Row is a metric of a T, and how its values are read at a scrape.
type Row[T any] struct {
	metric Metric
	read   func(of T, put func(v float64, labels ...string))
}

// Each is a row whose read calls put for each value.
func Each[T any](m Metric, read func(of T, put func(v float64, labels ...string))) Row[T] {
	return Row[T]{m, read}
}

// One is a row with one value and no labels.
func One[T any](m Metric, read func(T) float64) Row[T] {
	return Row[T]{m, func(of T, put func(float64, ...string)) { put(read(of)) }}
}

// Table is the metrics of a T.
type Table[T any] []Row[T]

// Collect writes all values.
func (t Table[T]) Collect(of T, out chan<- prometheus.Metric) {
	for _, r := range t {
		r.read(of, func(v float64, labels ...string) { r.metric.Put(out, v, labels...) })
	}
}

// Collector is an unchecked collector: the set of metrics depends on the venue.
type Collector func(out chan<- prometheus.Metric)

func (Collector) Describe(chan<- *prometheus.Desc)       {}
func (c Collector) Collect(out chan<- prometheus.Metric) { c(out) }
