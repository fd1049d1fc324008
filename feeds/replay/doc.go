// Package replay writes what sources say to a file and plays it again (contract
// oracle, Wire formats). The file is CSV, one price a line, in the order they came:
//
//	ts_ns,feed,source,price
//	1790000000000000000,BTC,kraken,65000.125
//
// ts_ns is when the price was received, feed one of BTC, gold, WTI (or 0, 1, 2),
// price decimal text. The first line may name the columns.
//
//	Recorder.Tee(source) ──▶ file ──▶ Open ──▶ Tape.Sources ──▶ out(price, at)
//
// The first line is played at once and every other as long after it as it came
// then, or faster by a whole factor; at is the time of playing. After the last
// line the sources are silent.
package replay
