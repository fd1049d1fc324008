package server

import (
	"errors"
	"net/url"
)

// CheckPublicURL returns an error unless text is a base URL: a scheme of http or https and a host,
// with nothing behind.
func CheckPublicURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.Hostname() == "" || text != u.Scheme+"://"+u.Host {
		return errors.New("must be an address like https://venue.example, without a path")
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
