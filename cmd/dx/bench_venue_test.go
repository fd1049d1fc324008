package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"duplex/cmd/dx/load"
)

// dx bench needs no dev file: an address with an operator or with keys is enough.
func TestBenchByURL(t *testing.T) {
	p := loadedVenue.of(t)
	t.Chdir(t.TempDir()) // a folder without a dev file
	maker, trader, reader := p.account("maker"), p.account("trader"), p.account("reader")
	for _, c := range []struct {
		name, args string
		env        map[string]string
		conns      int
		accounts   int
	}{
		{"operator", "--url URL --admin ADMIN --operator-token TOKEN --mix maker --conns 3", nil, 3, 3},
		{"operator in the environment", "--mix maker --conns 3", map[string]string{"DX_URL": p.dev.API, "DX_ADMIN_URL": p.dev.Admin, "DX_OPERATOR_TOKEN": p.dev.OperatorToken}, 3, 3},
		{"operator before keys", "--url URL --admin ADMIN --key KEY1 --mix maker --conns 3", map[string]string{"DX_SECRET": maker.Secret, "DX_OPERATOR_TOKEN": p.dev.OperatorToken}, 3, 3},
		{"by name", "--url LOCALHOST/ --key KEY1 --secret SECRET1 --mix maker --conns 3", nil, 3, 1},
		{"two keys", "--url URL --key KEY1 --secret SECRET1 --key KEY2 --secret SECRET2 --mix maker --conns 3 --readers 3", nil, 3, 2},
		{"keys in the environment", "--mix read --conns 3", map[string]string{"DX_URL": p.dev.API, "DX_KEY": maker.APIKey + "," + trader.APIKey, "DX_SECRET": maker.Secret + "," + trader.Secret}, 3, 2},
		{"more keys than connections", "--url URL --key KEY1,KEY2 --secret SECRET1,SECRET2 --conns 1 --no-frames", nil, 1, 1},
		{"keys without a mix", "--url URL --key KEY1 --secret SECRET1 --conns 3", nil, 3, 1},
		{"once more", "--url URL --key KEY1 --secret SECRET1 --conns 3 --batch 20", nil, 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := loadedVenue.of(t)
			for name, v := range c.env {
				t.Setenv(name, v)
			}
			args := strings.NewReplacer("URL", p.dev.API, "LOCALHOST", strings.Replace(p.dev.API, "127.0.0.1", "localhost", 1), "ADMIN", p.dev.Admin, "TOKEN", p.dev.OperatorToken,
				"KEY1", maker.APIKey, "SECRET1", maker.Secret, "KEY2", trader.APIKey, "SECRET2", trader.Secret).Replace(c.args)
			type report struct {
				Connections, Accounts, Orders, Failed int
				All                                   load.RequestReport
				Operations                            []*load.RequestReport
			}
			var r report
			out, _ := longEnough(t, p, strings.Fields("bench --json "+args), func(out string) bool {
				r = report{}
				if err := json.Unmarshal([]byte(out), &r); err != nil {
					t.Fatalf("dx bench --json prints no report: %v\n%s", err, out)
				}
				return r.Orders+int(r.All.Count) > 0 && r.Failed == 0 && len(rejectedWith(r.Operations, "unknown_order", "invalid_decrease")) == 0
			})
			if r.Connections != c.conns || r.Accounts != c.accounts || r.Orders+int(r.All.Count) == 0 || r.Failed > 0 {
				t.Error(out)
			}
			if bad := rejectedWith(r.Operations, "unknown_order", "invalid_decrease"); len(bad) > 0 { // another connection of the account canceled it
				t.Error(bad)
			}
		})
	}
	for _, c := range []struct{ name, args, want string }{
		{"a key of nobody", "--url URL --mix read --key nobody --secret SECRET1", "key nobody: 401"},
		{"another's secret", "--url URL --mix read --key KEY1 --secret SECRET2", "401"},
		{"a reader that is to place", "--url URL --mix maker --key READER --secret SECRET3", "403"},
		{"another's token", "--url URL --admin ADMIN --operator-token other", "401"},
		{"the operator's listener for the API", "--url ADMIN --mix read --key KEY1 --secret SECRET1", "401"},
	} {
		args := strings.NewReplacer("URL", p.dev.API, "ADMIN", p.dev.Admin, "KEY1", maker.APIKey, "SECRET1", maker.Secret, "SECRET2", trader.Secret, "READER", reader.APIKey, "SECRET3", reader.Secret).Replace(c.args)
		code, out, errs := runCommand(strings.Fields("bench --duration 150ms " + args)...)
		if code != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out, errs)
		}
		for _, secret := range []string{maker.Secret, trader.Secret, reader.Secret} {
			if strings.Contains(out+errs, secret) {
				t.Errorf("%s: a secret is printed", c.name)
			}
		}
	}
}

// Addresses outside loopback are rejected, and errors name the missing flag.
func TestBenchTarget(t *testing.T) {
	secret := strings.Repeat("5a", 32)
	const gone = nobody
	here := textFile(t, "here.json", fmt.Sprintf(`{"api":%[1]q,"admin":%[1]q,"operator_token":"t"}`, gone))
	away := textFile(t, "away.json", `{"api":"http://192.0.2.1:8080","admin":"http://127.0.0.1:2","operator_token":"t"}`)
	ruled := textFile(t, "ruled.json", `{"api":"http://127.0.0.1:1","admin":"http://192.0.2.1:8082","operator_token":"t"}`)
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		name, args string
		code       int
		want       string
	}{
		{"a name", "--url http://venue.example:8080 --key k --secret " + secret, 2, "--url: venue.example:8080 is not on loopback"},
		{"an address", "--url http://192.0.2.1:8080 --key k --secret " + secret, 2, "--url: 192.0.2.1:8080 is not on loopback"},
		{"any address", "--url http://0.0.0.0:8080 --key k --secret " + secret, 2, "--url: 0.0.0.0:8080 is not on loopback"},
		{"IPv6", "--url http://[2001:db8::1]:8080 --key k --secret " + secret, 2, "--url: [2001:db8::1]:8080 is not on loopback"},
		{"a name that begins well", "--url http://localhost.example:8080 --key k --secret " + secret, 2, "is not on loopback"},
		{"an address that begins well", "--url http://127.0.0.1.example:8080 --key k --secret " + secret, 2, "is not on loopback"},
		{"a user of that name", "--url http://127.0.0.1:8080@192.0.2.1:8080 --key k --secret " + secret, 2, "--url: must be an address like"},
		{"an operator elsewhere", "--url http://127.0.0.1:1 --admin http://192.0.2.1:8082 --operator-token t", 2, "--admin: 192.0.2.1:8082 is not on loopback"},
		{"an operator elsewhere, unused", "--url http://127.0.0.1:1 --admin http://192.0.2.1:8082 --key k --secret " + secret, 2, "--admin: 192.0.2.1:8082 is not on loopback"},
		{"a dev file from elsewhere", "--dev-file " + away, 2, "--dev-file: 192.0.2.1:8080 is not on loopback"},
		{"a dev file of an operator elsewhere", "--dev-file " + ruled, 2, "--dev-file: 192.0.2.1:8082 is not on loopback"},
		{"TLS", "--url https://127.0.0.1:8080 --key k --secret " + secret, 2, "--url: must be an address like"},
		{"a path", "--url http://127.0.0.1:8080/v1 --key k --secret " + secret, 2, "--url: must be an address like"},
		{"a query", "--url http://127.0.0.1:8080?a=b --key k --secret " + secret, 2, "--url: must be an address like"},
		{"no port", "--url http://127.0.0.1 --key k --secret " + secret, 2, "--url: must be an address like"},
		{"no scheme", "--url 127.0.0.1:8080 --key k --secret " + secret, 2, "--url: "},
		{"nobody to act as", "--url http://127.0.0.1:1", 2, "--url: requires --admin"},
		{"no token", "--url http://127.0.0.1:1 --admin http://127.0.0.1:2", 2, "--admin: requires DX_OPERATOR_TOKEN"},
		{"nowhere to be operator", "--url http://127.0.0.1:1 --operator-token t", 2, "--url: requires --admin"},
		{"a dev file is not asked", "--url http://127.0.0.1:1 --dev-file " + here, 2, "--url: requires --admin"},
		{"no secret", "--url http://127.0.0.1:1 --key k", 2, "--key: 1 keys and 0 secrets"},
		{"a secret too many", "--url http://127.0.0.1:1 --key k --secret a,b", 2, "--key: 1 keys and 2 secrets"},
		{"a short secret", "--url http://127.0.0.1:1 --key k --secret 5a5a", 2, "--secret: the secret of k"},
		{"too many for a key", "--url http://127.0.0.1:1 --key k --conns 9 --batch 20 --no-frames --secret " + secret, 2, "--conns: 9 connections"},
		{"too many readers for a key", "--url http://127.0.0.1:1 --key k --mix read --readers 21 --secret " + secret, 2, "--readers: must be 0 to 20"},
		{"nowhere", "", 1, "no --url, and no venue started here"},
		{"nobody listens", "--dev-file " + here, 1, "refused"},
		{"nobody listens to a key", "--dev-file " + here + " --key k --mix read --secret " + secret, 1, strings.TrimPrefix(gone, "http://") + ": connect: connection refused"},
	} {
		code, out, errs := runCommand(strings.Fields("bench " + c.args)...)
		if code != c.code || !strings.Contains(errs, c.want) || strings.Contains(errs, secret) {
			t.Errorf("%s: exit %d\n%s%s", c.name, code, out, errs)
		}
	}
}

// The dev file completes the flags. If keys are given, it adds only the API address,
// otherwise also the address and token of the operator.
func TestBenchDevFile(t *testing.T) {
	path := textFile(t, "dev.json", `{"api":"http://127.0.0.1:1","admin":"http://127.0.0.1:2","operator_token":"t"}`)
	secret := []string{strings.Repeat("5a", 32)}
	for _, c := range []struct {
		name  string
		flags benchVenueFlags
		admin string
		token string
		keys  int
	}{
		{"all", benchVenueFlags{}, "http://127.0.0.1:2", "t", 0},
		{"keys", benchVenueFlags{Key: []string{"k"}, Secret: secret}, "", "", 1},
		{"a token", benchVenueFlags{OperatorToken: "u"}, "http://127.0.0.1:2", "u", 0},
		{"a listener", benchVenueFlags{Admin: "http://127.0.0.1:3"}, "http://127.0.0.1:3", "t", 0},
		{"an operator and keys", benchVenueFlags{Admin: "http://127.0.0.1:3", OperatorToken: "u", Key: []string{"k"}, Secret: secret}, "http://127.0.0.1:3", "u", 1},
	} {
		c.flags.DevFile = path
		api, admin, token, keys, err := c.flags.resolve()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if api.URL != "http://127.0.0.1:1" || admin.URL != c.admin {
			t.Errorf("%s: the venue is at %s, its operator at %q, want http://127.0.0.1:1 and %q", c.name, api.URL, admin.URL, c.admin)
		}
		if token != c.token || len(keys) != c.keys {
			t.Errorf("%s: token %q, keys %v, want token %q and %d keys", c.name, token, keys, c.token, c.keys)
		}
	}
}
