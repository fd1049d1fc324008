package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"duplex/schemas"
)

// readyCmd is `dx ready`, for images without a shell (docs/rules/operation.md#health).
type readyCmd struct {
	At  string `arg:"" optional:"" help:"HOST:PORT or URL of the API. Default: api of the settings (DX_API, --config), else 127.0.0.1:8080." placeholder:"HOST:PORT"`
	API string `hidden:"" name:"api" default:"127.0.0.1:8080"`
}

func (c *readyCmd) Help() string {
	return `Asks /readyz of the API, prints the phase, and exits with 0 if the node is ready, else with 1, within 5 s. It needs no key, and checks no certificate: it says nothing about who answers.`
}

// readyTimeout leaves a part of the 5 s to the start of the program.
const readyTimeout = 4500 * time.Millisecond

func (c *readyCmd) Run(ctx context.Context, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	at := strings.TrimSuffix(strings.TrimSuffix(cmp.Or(c.At, os.Getenv("DX_API"), c.API), "/readyz"), "/")
	bases := []string{at}
	if !strings.Contains(at, "://") {
		host, port, err := net.SplitHostPort(at)
		if err != nil {
			return fmt.Errorf("%q is neither HOST:PORT nor a URL", at)
		}
		if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() { // where a venue listens
			host = "127.0.0.1"
		}
		bases = []string{"http://" + net.JoinHostPort(host, port), "https://" + net.JoinHostPort(host, port)}
	}
	client := &http.Client{
		Transport:     &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	var errs []error
	for _, base := range bases { // a port that speaks TLS answers plain HTTP with 400
		phase, status, err := readyPhase(ctx, client, base)
		switch {
		case err != nil:
			errs = append(errs, err)
		case status == http.StatusOK:
			_, err := fmt.Fprintln(out, phase)
			return err
		case status == http.StatusServiceUnavailable:
			return fmt.Errorf("not ready: %s", cmp.Or(phase, "503"))
		case status == http.StatusBadRequest && strings.HasPrefix(base, "http:"):
			errs = append(errs, fmt.Errorf("GET %s/readyz: 400, as of a port that speaks TLS: try https", base))
		default:
			errs = append(errs, fmt.Errorf("GET %s/readyz: %d", base, status))
		}
	}
	return errors.Join(errs...)
}

// readyPhase returns what /readyz says.
func readyPhase(ctx context.Context, client *http.Client, base string) (phase string, status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/readyz", nil)
	if err != nil {
		return "", 0, err
	}
	res, err := client.Do(r)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return "", 0, err
	}
	var body struct{ Phase string }
	if err := json.Unmarshal(text, &body); err != nil && res.StatusCode == http.StatusOK {
		return "", 0, fmt.Errorf("GET %s/readyz answers with something else than a venue", base)
	}
	return schemas.ForTerminal(body.Phase), res.StatusCode, nil
}
