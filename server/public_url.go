package server

import (
	"fmt"
	"net/url"

	"duplex/internal/address"
)

// CheckPublicURL returns an error unless text is a base URL: a scheme of http or https and a host,
// with nothing behind.
func CheckPublicURL(text string) error {
	if err := address.CheckBase(text, "https", "http"); err != nil {
		return fmt.Errorf("must be an address like https://venue.example, without a path: it %w", err)
	}
	return nil
}

// hostOf returns the host of a checked base URL, with its port if it has one.
func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		panic(err) // CheckPublicURL has parsed it
	}
	return u.Host
}
