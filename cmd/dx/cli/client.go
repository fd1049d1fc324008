package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"duplex/client"
	"duplex/schemas"
)

// DevFileDefault is the path, from the working directory, at which dx dev writes its file
// and the other commands read it.
const DevFileDefault = ".dx/dev.json"

// ClientFlags name a venue and a key. They come from a profile, else from DX_URL, DX_KEY and
// DX_SECRET, else from the dev file.
type ClientFlags struct {
	Profile string `help:"Profile to use: its file, or its name in the folder agents beside the dev file. It takes precedence over all other settings." placeholder:"NAME|FILE" env:"DX_PROFILE"`
	URL     string `help:"API address of the venue, or those of several nodes of a cluster, separated by commas, the preferred one first. Default: the address in the dev file." env:"DX_URL"`
	Key     string `type:"secret" help:"API key. Default: a key in the dev file; see --as." env:"DX_KEY"`
	Secret  string `type:"secret" help:"The secret of the key, 64 hex characters." env:"DX_SECRET" hidden:""`
	DevFile string `help:"The file that dx dev writes." default:".dx/dev.json" type:"path" env:"DX_DEV_FILE"`
	As      string `help:"Account of the dev file: trader, maker, reader or treasurer." default:"trader" env:"DX_AS"`
}

// Client returns a client that signs with the key. It waits for tokens when the venue
// rejects a request for its rate, and repeats a placement whose response was lost with the
// same client_order_id, as a person at a prompt would.
func (c *ClientFlags) Client(opts ...client.Option) (*client.Client, error) {
	base, key, hex, err := c.Resolve()
	if err != nil {
		return nil, err
	}
	secret, ok := schemas.ParseSecret(hex)
	if !ok {
		return nil, BadFlag("secret", errors.New("DX_SECRET must be 64 hex characters"))
	}
	own := []client.Option{client.WaitForTokens(), client.RepeatPlacements(), Reload(base, c.Resolve)}
	if len(client.Addresses(base)) == 1 {
		own = append(own, client.MaxAttempts(attempts))
	}
	out, err := client.New(base, key, secret, append(own, opts...)...)
	if err != nil {
		return nil, BadFlag("url", err)
	}
	return out, nil
}

// attempts is how often a request that the venue did not execute is sent, so that a person at a prompt hears at once
// of a venue that is not there. What may have been executed is looked for as long as a call may take.
const attempts = 4

// Reload makes a client read key and secret once more when the venue does not accept them, because dx agent key
// may have replaced a profile, or dx dev its file. A key of another venue than that at base is not used.
func Reload(base string, resolve func() (base, key, secret string, err error)) client.Option {
	return client.Reload(func() (string, []byte, bool) {
		at, key, hex, err := resolve()
		secret, ok := schemas.ParseSecret(hex)
		return key, secret, ok && err == nil && at == base
	})
}

// Resolve returns the base URL of the venue, the key, and its secret in hex. Without a profile
// it reads the dev file for what the flags leave out.
func (c *ClientFlags) Resolve() (base, key, secret string, err error) {
	if c.Profile != "" {
		p, _, err := OpenProfile(c.DevFile, c.Profile)
		return p.API, p.APIKey, p.Secret, err
	}
	base, key, secret = c.URL, c.Key, c.Secret
	if base != "" && key != "" {
		return base, key, secret, nil
	}
	dev, err := ReadDevFile(c.DevFile)
	if err != nil {
		return "", "", "", fmt.Errorf("no DX_URL, DX_KEY and DX_SECRET, and no venue started here: %w", err)
	}
	base = cmp.Or(base, dev.API)
	if key == "" {
		key, secret, err = devAccountKey(dev, c.As)
	}
	return base, key, secret, err
}

// ReadDevFile reads the file that dx dev writes.
func ReadDevFile(path string) (dev schemas.DevFile, err error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return dev, err
	}
	if err := json.Unmarshal(b, &dev); err != nil {
		return dev, fmt.Errorf("%s: %w", path, err)
	}
	return dev, nil
}

func devAccountKey(dev schemas.DevFile, name string) (key, secret string, err error) {
	for _, a := range dev.Accounts {
		if a.Name == name {
			return a.APIKey, a.Secret, nil
		}
	}
	return "", "", BadFlag("as", fmt.Errorf("no account %q in the dev file", name))
}
