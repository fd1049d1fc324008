package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"duplex/client"
	"duplex/schemas"
)

// devFileDefault is where dx dev writes its file and other commands look for it, from
// the working directory.
const devFileDefault = ".dx/dev.json"

// clientFlags says which venue to speak to and as whom: DX_URL, DX_KEY and DX_SECRET, or
// the dev file.
type clientFlags struct {
	URL     string `help:"API address of the venue; default: the dev file's." env:"DX_URL"`
	Key     string `help:"API key; default: the dev file's." env:"DX_KEY"`
	Secret  string `help:"Its secret, 64 hex characters." env:"DX_SECRET" hidden:""`
	DevFile string `help:"The file dx dev wrote." default:".dx/dev.json" type:"path" env:"DX_DEV_FILE"`
	As      string `help:"Account of the dev file to act as: trader, maker, reader or treasurer." default:"trader" env:"DX_AS"`
}

func (c *clientFlags) newClient(opts ...client.Option) (*client.Client, error) {
	base, key, shown, err := c.resolve()
	if err != nil {
		return nil, err
	}
	secret, ok := schemas.ParseSecret(shown)
	if !ok {
		return nil, flagError{"secret", errors.New("DX_SECRET must be 64 hex characters")}
	}
	// A person at a prompt would do both of these by hand.
	return client.New(base, key, secret, append(opts, client.WaitForTokens(), client.RepeatPlacements())...), nil
}

// resolve gives the venue, the key and its secret as it is shown.
func (c *clientFlags) resolve() (base, key, shown string, err error) {
	base, key, shown = c.URL, c.Key, c.Secret
	if base != "" && key != "" {
		return base, key, shown, nil
	}
	dev, err := readDevFile(c.DevFile)
	if err != nil {
		return "", "", "", fmt.Errorf("no DX_URL, DX_KEY and DX_SECRET, and no venue started here: %w", err)
	}
	if base == "" {
		base = dev.API
	}
	if key == "" {
		key, shown, err = devAccountKey(dev, c.As)
	}
	return base, key, shown, err
}

func readDevFile(path string) (dev schemas.DevFile, err error) {
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
	return "", "", flagError{"as", fmt.Errorf("no account %q in the dev file", name)}
}
