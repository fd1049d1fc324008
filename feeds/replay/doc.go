// Package replay records the prices of sources to a file and plays such files
// (docs/rules/prices-sources.md#simulated-and-recorded-prices). The file is CSV, one price a
// line, in order of receipt:
//
//	ts_ns,feed,source,price
//	1790000000000000000,BTC,kraken,65000.125
//
// ts_ns is the time of receipt, feed a name or number of a feed, price decimal text. The
// first line may name the columns.
//
//	Recorder.Tee(source) ──▶ file ──▶ Open ──▶ Recording.Sources ──▶ out(price, at)
//
// A recording plays its first line at once and every other line after the same time as in
// the recording, divided by the speed. The time of a price is the time of playing. After
// the last line the sources are silent.
package replay
