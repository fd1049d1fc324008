package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/cmd/dx/load"
)

// benchCmd is `dx bench`: the flags of package load.
type benchCmd struct {
	benchVenueFlags
	Conns    int           `help:"Connections." default:"64"`
	Duration time.Duration `help:"How long to run; with --frames, how long each of the three phases is." default:"5s"`
	Batch    int           `help:"Orders per request; 1 uses the route for a single order." default:"1"`
	Mix      string        `help:"Send a mix of requests instead of placements only: maker, taker, cancel, quotes, read, agents, or full, which is all of them on every market." enum:",maker,taker,cancel,quotes,read,agents,full" default:"" placeholder:"MIX"`
	Rate     float64       `help:"With --mix: requests per second over all connections, each sent when it is due. 0: each connection sends when its last request is answered." default:"0"`
	Readers  *int          `help:"With --mix: connections of the event lane that read all books, trades and the index; every second one also reads its account. Default: 8 with --mix full, else 0." placeholder:"N"`
	Frames   bool          `help:"Without --mix: also measure when frames arrive, on the idle venue and at half the load." default:"true" negatable:""`
	JSON     bool          `help:"Print JSON."`
}

func (b *benchCmd) Help() string {
	return `The venue must allow the rate: start it with --write-floor 1000000, and for mixes also with --read-rate 1000000. dx bench loads only a venue on a loopback address: that of the dev file, or of --url. With --admin, and DX_OPERATOR_TOKEN in the environment, it creates a funded account for each connection. Otherwise the connections share the accounts of --key and DX_SECRET, several separated by commas; it first cancels their resting orders, unless the mix only reads.

"frame after answer" is the time from the HTTP response of a placement to the frame of the same seq, at a reader of orderbook_delta or user in this process. It is negative if the frame arrives first. One connection places an order, waits for the response and the frames, and continues: alone when idle, and while the other connections place at half the rate they reached. A frame is missing if it does not arrive within a second, or if the venue left it out for a slow reader. Missing frames count in no percentile.

--mix prints a line for each kind of request, for all commands (requests that are written to the journal), for all reads, and for both. A rejected request counts by its code only. With --rate a latency counts from the moment the request was due, so that a stall counts for every request it delays. Without --rate the loop is closed: a stall delays the next request instead, and the figures hide it. --mix full uses every market that trades, including those that open during the run. The three series of 60 s open at the start of a minute, so a venue that has just started has six of the nine.

--readers prints a line for each type of frame, over all readers: how many arrived, and the latency of those that a command of this run caused, the first of each seq at each reader. The latency counts from when the command was sent (with --rate: was due), and from when its response arrived, negative if the frame arrived first. When there are very many, every second seq is timed, or every fourth and so on. A gap is a frame whose prev_seq is not the last seq. A connection that closes is replaced and counted by its code; 1006 means that it broke.

Examples:
  dx bench
  dx bench --mix full --conns 50 --duration 20s
  dx bench --mix maker --rate 5000 --readers 100
  dx bench --conns 16 --batch 20 --duration 10s
  dx bench --url http://127.0.0.1:8080 --admin http://127.0.0.1:8082 --mix taker
  DX_KEY=one,two DX_SECRET=...,... dx bench --url http://127.0.0.1:8080 --mix read
  dx bench --no-frames --json`
}

func (b *benchCmd) Run(ctx context.Context, out io.Writer, diag diagnostics) error {
	o := load.Options{
		Conns: b.Conns, Duration: b.Duration, Batch: b.Batch, Frames: b.Frames, Mix: b.Mix, Rate: b.Rate, Readers: b.Readers,
		Progress: cli.Progress{To: diag.Writer, Redraw: cli.IsTerminal(diag.Writer)},
	}
	if err := o.Validate(); err != nil {
		return err
	}
	v, err := b.venue()
	if err != nil {
		return err
	}
	r, err := load.Run(ctx, v, o)
	if err != nil {
		return err
	}
	if b.JSON {
		return json.NewEncoder(out).Encode(r)
	}
	return r.Print(out)
}

// benchVenueFlags name the venue to load, and either its operator or the keys to use.
type benchVenueFlags struct {
	URL           string   `help:"API address of the venue, on loopback. Default: the address in the dev file." env:"DX_URL" placeholder:"URL"`
	Admin         string   `help:"Address of its admin listener; each connection gets a funded account of its own." env:"DX_ADMIN_URL" placeholder:"URL"`
	OperatorToken string   `type:"secret" env:"DX_OPERATOR_TOKEN" hidden:"" help:"The operator's bearer token, in the environment."`
	Key           []string `type:"secret" help:"Without an operator: API keys of funded accounts, which the connections share." env:"DX_KEY" placeholder:"KEY"`
	Secret        []string `type:"secret" help:"Their secrets in the same order, 64 hex characters each." env:"DX_SECRET" hidden:""`
	DevFile       string   `help:"The file that dx dev writes." default:".dx/dev.json" type:"path" env:"DX_DEV_FILE"`
}

// venue returns the venue that the flags name.
func (f *benchVenueFlags) venue() (*load.Venue, error) {
	api, admin, token, keys, err := f.resolve()
	if err != nil {
		return nil, err
	}
	return load.NewVenue(api, admin, token, keys)
}

// resolve returns the arguments of load.NewVenue. With --url it takes nothing from the dev
// file, without it what the other flags leave out. Given keys replace the operator of the
// dev file.
func (f *benchVenueFlags) resolve() (api, admin load.Address, token string, keys []load.Key, err error) {
	if len(f.Key) != len(f.Secret) {
		return api, admin, "", nil, cli.BadFlag("key", fmt.Errorf("%d keys and %d secrets", len(f.Key), len(f.Secret)))
	}
	for i, id := range f.Key {
		keys = append(keys, load.Key{ID: id, Secret: f.Secret[i]})
	}
	api, admin, token = load.Address{Flag: "url", URL: f.URL}, load.Address{Flag: "admin", URL: f.Admin}, f.OperatorToken
	if f.URL != "" {
		return api, admin, token, keys, nil
	}
	dev, err := cli.ReadDevFile(f.DevFile)
	if err != nil {
		return api, admin, "", nil, fmt.Errorf("no --url, and no venue started here: %w", err)
	}
	api = load.Address{Flag: "dev-file", URL: dev.API}
	if len(keys) == 0 {
		token = cmp.Or(token, dev.OperatorToken)
		if f.Admin == "" {
			admin = load.Address{Flag: "dev-file", URL: dev.Admin}
		}
	}
	return api, admin, token, keys, nil
}
