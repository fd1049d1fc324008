package client

import (
	"encoding/json"
	"net/url"
	"os"
	"testing"

	"golang.org/x/net/http/httpproxy"
)

// TestProxyVectors checks the rules of proxies that the clients share. They are those of net/http, whose
// ProxyFromEnvironment uses httpproxy and reads the environment once.
func TestProxyVectors(t *testing.T) {
	b, err := os.ReadFile("../schemas/vectors/proxies.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		URL, Proxy string
		HTTP       string `json:"http_proxy"`
		HTTPS      string `json:"https_proxy"`
		No         string `json:"no_proxy"`
	}
	if err := json.Unmarshal(b, &cases); err != nil || len(cases) < 30 {
		t.Fatal(len(cases), err)
	}
	for _, c := range cases {
		u, err := url.Parse(c.URL)
		if err != nil {
			t.Fatal(err)
		}
		proxy, err := (&httpproxy.Config{HTTPProxy: c.HTTP, HTTPSProxy: c.HTTPS, NoProxy: c.No}).ProxyFunc()(u)
		got := ""
		if proxy != nil {
			got = proxy.String()
		}
		if err != nil || got != c.Proxy {
			t.Errorf("%+v: the proxy is %q, %v", c, got, err)
		}
	}
}
