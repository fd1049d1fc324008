package gate

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"duplex/core"
	"duplex/feeds/adapter/adaptertest"
	"duplex/tools"
)

// namedConn is a connection that notes its end.
type namedConn struct {
	net.Conn
	name, from string
	ended      *[]string
}

func (c *namedConn) RemoteAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(c.from), 1))
}

func (c *namedConn) Close() error {
	*c.ended = append(*c.ended, c.name)
	return nil
}

// TestPlaces runs stories about the connections of a listener. A line is a step and what it ends or
// returns (docs/rules/limits.md#connections).
func TestPlaces(t *testing.T) {
	for name, story := range map[string]struct {
		places Places
		steps  string
	}{
		"a full listener ends the oldest that never signed": {Places{Max: 3}, `
			take a 10.0.0.1
			take b 10.0.0.2
			sign a 1
			take c 10.0.0.3
			take d 10.0.0.4 -> ends b
			begin c
			take e 10.0.0.5 -> ends c
			sign c 2        -> shed
			take f 10.0.0.6 -> ends d`},
		"a network ends its own oldest": {Places{PerNetwork: 2}, `
			take other 10.0.0.2
			take a 10.0.0.1
			take b 10.0.0.1
			take c 10.0.0.1 -> ends a
			sign b 1
			take d 10.0.0.1
			take e 10.0.0.1 -> ends c
			take f 10.0.0.1 -> ends d`},
		"a /64 is one network": {Places{PerNetwork: 1}, `
			take a 2001:db8::1
			take b 2001:db8:0:0:ffff::2 -> ends a
			take c 2001:db8:0:1::1`},
		"without unsigned ones the largest family loses its oldest idle one": {Places{Max: 4}, `
			take a 10.0.0.1
			sign a 7
			take b 10.0.0.2
			sign b 7
			take c 10.0.0.3
			sign c 7
			take d 10.0.0.4
			sign d 8
			begin a
			end a
			begin b
			take e 10.0.0.5 -> ends c
			sign e 9
			take f 10.0.0.6 -> ends a
			begin a         -> refused`},
		"a socket ends only if none is idle, a read only if there is no socket, a write never": {Places{Max: 2}, `
			take a 10.0.0.1
			sign a 7
			begin a
			hijack a
			end a
			take b 10.0.0.2
			sign b 7
			begin b
			take c 10.0.0.3 -> ends a
			sign c 7
			begin c
			write c
			take d 10.0.0.4 -> ends b
			write b         -> shed
			sign d 7
			begin d
			write d
			take e 10.0.0.5 -> rejected
			written c
			take f 10.0.0.6 -> ends c`},
		"a socket with a write stays": {Places{Max: 1}, `
			take a 10.0.0.1
			sign a 7
			hijack a
			write a
			take b 10.0.0.2 -> rejected
			written a
			take c 10.0.0.2 -> ends a`},
		"a family has at most 1024": {Places{}, `
			fill 7 1024
			take a 10.0.0.1
			sign a 7        -> ends 7-0
			take b 10.0.0.1
			sign b 8`},
		"a family of writes in progress gets no further connection": {Places{}, `
			fill 7 1024 write
			take a 10.0.0.1
			sign a 7 -> too_many_connections
			take b 10.0.0.1
			sign b 8`},
		"a family of reads in progress loses the oldest": {Places{}, `
			fill 7 1024 begin
			take a 10.0.0.1
			sign a 7 -> ends 7-0`},
		"proxies count as signed": {Places{Max: 2, PerNetwork: 1, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.9/32")}}, `
			take a 10.0.0.9
			take b 10.0.0.9
			take c 10.0.0.1 -> rejected`},
		"the end of a connection frees its place": {Places{Max: 1}, `
			take a 10.0.0.1
			close a -> ends a
			take b 10.0.0.1
			sign b 1
			close b -> ends b
			take c 10.0.0.1
			take d 10.0.0.2 -> ends c`},
	} {
		t.Run(name, func(t *testing.T) {
			story.places.Timeout = time.Hour // the timeout has a test of its own
			table := newPlaceTable(story.places)
			all, ended := map[string]*place{}, []string{}
			step := func(words []string) (result string) {
				defer func() {
					if len(ended) > 0 {
						result += "ends " + strings.Join(ended, " ")
					}
					ended = ended[:0]
				}()
				verb, who := words[0], words[1]
				p := all[who]
				code := func(err error) string {
					if err == nil {
						return ""
					}
					return tools.ErrorOf(err).Code
				}
				family := func(word string) core.UserID {
					n, err := strconv.Atoi(word)
					if err != nil {
						t.Fatal(err)
					}
					return core.UserID(n)
				}
				switch verb {
				case "take":
					if all[who] = table.take(&namedConn{name: who, from: words[2], ended: &ended}); all[who] == nil {
						return "rejected"
					}
				case "sign":
					return code(p.sign(family(words[2])))
				case "begin":
					if !p.begin() {
						return "refused"
					}
				case "write":
					return code(p.beginWrite())
				case "written":
					p.endWrite()
				case "hijack":
					p.socket.Store(true)
				case "end":
					p.end()
				case "close":
					if err := (&placedConn{p.conn, p}).Close(); err != nil {
						t.Fatal(err)
					}
				case "fill":
					n, err := strconv.Atoi(words[2])
					if err != nil {
						t.Fatal(err)
					}
					for i := range n {
						p := table.take(&namedConn{name: fmt.Sprintf("%s-%d", who, i), from: "10.1.1.1", ended: &ended})
						if err := p.sign(family(who)); err != nil {
							t.Fatal(err)
						}
						p.idleSince.Store(int64(i))
						if len(words) > 3 {
							p.begin()
						}
						if len(words) > 3 && words[3] == "write" {
							if err := p.beginWrite(); err != nil {
								t.Fatal(err)
							}
						}
					}
				default:
					t.Fatalf("no verb %s", verb)
				}
				return ""
			}
			for line := range strings.SplitSeq(strings.TrimSpace(story.steps), "\n") {
				line = strings.TrimSpace(line)
				do, want, _ := strings.Cut(line, "->")
				if got := step(strings.Fields(do)); got != strings.TrimSpace(want) {
					t.Errorf("%s: got %q", line, got)
				}
			}
		})
	}
}

// lingers is how long net/http keeps a connection whose body it has not read, so that the client can read the
// answer. Before Go 1.26.11 it does not, if the read of the body has reached its deadline.
const lingers = 500 * time.Millisecond

// TestUnsignedConnectionsEnd checks when a connection ends that shows no valid credential
// (docs/rules/limits.md#connections). The API rejects each signature here.
func TestUnsignedConnectionsEnd(t *testing.T) {
	const request = "GET / HTTP/1.1\r\nHost: x\r\n"
	open := func(g *Gate) http.Handler {
		return g.Guard("portal", func(*http.Request, *Call) error { return nil }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }))
	}
	signed := func(g *Gate) http.Handler {
		return g.Guard("admin", func(_ *http.Request, c *Call) error { c.Operator.Name = "carol"; return nil }, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }))
	}
	api := func(g *Gate) http.Handler { return g.Edge(http.NotFoundHandler()) }
	for name, c := range map[string]struct {
		handler func(*Gate) http.Handler
		send    []string // the second one after 4 s
		answers []int
		ends    time.Duration
		lingers bool // or ends that much later
	}{
		"nothing sent":                    {open, nil, nil, HeaderTimeout, false},
		"half a head":                     {open, []string{request}, nil, HeaderTimeout, false},
		"an answer":                       {open, []string{request + "\r\n"}, []int{204}, UnsignedTimeout + answerTime, false},
		"two answers":                     {open, []string{request + "\r\n", request + "\r\n"}, []int{204, 204}, 4*time.Second + UnsignedTimeout + answerTime, false},
		"a head that is late":             {open, []string{request + "\r\n", request}, []int{204}, UnsignedTimeout + answerTime, false},
		"without credentials":             {api, []string{request + "\r\n"}, []int{401}, 0, false},
		"a body without credentials":      {api, []string{"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\n{"}, []int{401}, unwantedBody, true},
		"a valid token":                   {signed, []string{request + "\r\n"}, []int{204}, IdleTimeout, false},
		"a valid token, then half a head": {signed, []string{request + "\r\n", request}, []int{204}, 4*time.Second + HeaderTimeout, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := New(&tools.Venue{Config: tools.DefaultConfig(func() int64 { return time.Now().UnixNano() })}, nil, slog.New(slog.DiscardHandler))
				w := adaptertest.NewWire()
				l := WrapListener(w, Places{})
				serveOn(t, Server(c.handler(g), slog.New(slog.DiscardHandler)), l)
				conn, err := w.Dial(t.Context(), "tcp", "venue")
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				began := time.Now()
				go func() {
					for i, text := range c.send {
						time.Sleep(time.Duration(i) * 4 * time.Second)
						if _, err := io.WriteString(conn, text); err != nil {
							return // the reader sees the end
						}
					}
				}()
				if got := statuses(t, conn); !slices.Equal(got, c.answers) {
					t.Errorf("answers %v, want %v", got, c.answers)
				}
				took := time.Since(began)
				if took != c.ends && !(c.lingers && took == c.ends+lingers) {
					t.Errorf("ended after %v, want %v", took, c.ends)
				}
				synctest.Wait()
				if n := l.Conns(); n != 0 {
					t.Errorf("%d places are taken", n)
				}
			})
		})
	}
}

// TestFullListenerServes fills a listener with connections of many networks that stay silent, and checks
// that each further client is answered, and that connections which have signed stay.
func TestFullListenerServes(t *testing.T) {
	const most = 8
	g := bareGate()
	handler := g.Guard("admin", func(r *http.Request, c *Call) error {
		c.Operator.Name = r.Header.Get("Authorization")
		return nil
	}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.WriteHeader(204) }))
	l := WrapListener(listen(t), Places{Max: most, Timeout: time.Hour})
	serveOn(t, Server(handler, slog.New(slog.DiscardHandler)), l)
	answer := func(c net.Conn) string {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nAuthorization: carol\r\n\r\n") // a closed connection shows in the read
		line, _ := bufio.NewReader(c).ReadString('\n')
		return strings.TrimSpace(line)
	}
	signed := dial(t, l.Addr().String())
	if got := answer(signed); got != "HTTP/1.1 204 No Content" {
		t.Fatalf("the first client: %q", got)
	}
	for i := range 5 * most {
		dialFrom(t, fmt.Sprintf("127.0.1.%d", 1+i), l.Addr().String())
		if i%most == 0 {
			if c := dialFrom(t, "127.0.2.1", l.Addr().String()); answer(c) != "HTTP/1.1 204 No Content" {
				t.Errorf("a client behind %d silent ones has no answer", i+1)
			} else if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if got := answer(signed); got != "HTTP/1.1 204 No Content" {
		t.Errorf("who had signed before the flood: %q", got)
	}
	evicted := map[string]uint64{}
	l.Evicted(func(reason string, n uint64) { evicted[reason] = n })
	if evicted["full"] < 3*most || l.Rejected() != 0 || l.Conns() > most {
		t.Errorf("evicted %v, rejected %d, open %d", evicted, l.Rejected(), l.Conns())
	}
}
