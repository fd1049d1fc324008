package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"duplex/feeds/replay"
)

// feedsRecordCmd is `dx feeds record`.
type feedsRecordCmd struct {
	sourceFlags
	Out string        `help:"The file to write; it must not be there yet." required:"" type:"path"`
	For time.Duration `help:"How long; 0 is until Ctrl-C." default:"0s"`
}

func (r *feedsRecordCmd) Help() string {
	return `Writes ts_ns,feed,source,price: every price, when it came.

Examples:
  dx feeds record --out monday.csv --for 1h
  dx dev --oracle replay:monday.csv`
}

func (r *feedsRecordCmd) Run(ctx context.Context, out io.Writer) (err error) {
	sources, err := r.openSources()
	if err != nil {
		return err
	}
	f, err := os.OpenFile(r.Out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return flagError{"out", err}
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	rec, err := replay.NewRecorder(f)
	if err != nil {
		return err
	}
	for i, s := range sources {
		sources[i] = rec.Tee(s)
	}
	_, stop, err := runSources(ctx, sources)
	if err != nil {
		return err
	}
	err = repeatUntil(ctx, time.Second, r.For, rec.Flush) // a disk that is full ends it
	stop()
	err = errors.Join(err, rec.Flush())
	fmt.Fprintf(out, "%d prices in %s\n", rec.Rows(), r.Out)
	return err
}
