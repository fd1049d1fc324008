package gate

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// told counts the deadlines a connection gets.
type told struct {
	net.Conn
	n atomic.Int32
}

func (c *told) SetReadDeadline(t time.Time) error  { c.n.Add(1); return c.Conn.SetReadDeadline(t) }
func (c *told) SetWriteDeadline(t time.Time) error { c.n.Add(1); return c.Conn.SetWriteDeadline(t) }

func pipe(t *testing.T) (*patient, *told, net.Conn) {
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	c := &told{Conn: a}
	return &patient{Conn: c}, c, b
}

// after is how long f takes in virtual time.
func after(f func()) time.Duration {
	begun := time.Now()
	f()
	return time.Since(begun)
}

func in(d time.Duration) time.Time { return time.Now().Add(d) }

func TestDeadlinesAreMetWhenAskedFor(t *testing.T) {
	one := make([]byte, 1)
	for name, ask := range map[string]func(p *patient){
		"the only one": func(p *patient) { p.SetReadDeadline(in(3 * time.Second)) },
		"put off":      func(p *patient) { p.SetReadDeadline(in(time.Second)); p.SetReadDeadline(in(3 * time.Second)) },
		"drawn in":     func(p *patient) { p.SetReadDeadline(in(time.Minute)); p.SetReadDeadline(in(3 * time.Second)) },
		"lifted and set": func(p *patient) {
			p.SetDeadline(in(time.Second))
			p.SetDeadline(time.Time{})
			p.SetDeadline(in(3 * time.Second))
		},
		"met before and then later": func(p *patient) {
			p.SetReadDeadline(time.Unix(1, 0))
			p.Read(one)
			p.SetReadDeadline(in(3 * time.Second))
		},
		"of who takes it over": func(p *patient) {
			p.SetReadDeadline(in(time.Second))
			p.SetReadDeadline(in(3 * time.Second))
			p.settle()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _, _ := pipe(t)
				ask(p)
				took := after(func() {
					if n, err := p.Read(one); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("read %d, %v", n, err)
					}
				})
				if took != 3*time.Second {
					t.Errorf("met after %v", took)
				}
			})
		})
	}
}

func TestDeadlineInMidRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, peer := pipe(t)
		p.SetReadDeadline(in(time.Second))
		p.SetReadDeadline(time.Time{})
		end := make(chan error)
		go func() { _, err := p.Read(make([]byte, 1)); end <- err }()
		time.Sleep(time.Hour) // past the one that was lifted
		synctest.Wait()
		select {
		case err := <-end:
			t.Fatalf("it ended: %v", err)
		default:
		}
		p.SetReadDeadline(time.Unix(1, 0)) // as net/http breaks a read off
		if err := <-end; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatal(err)
		}
		p.SetReadDeadline(time.Time{})
		go peer.Write([]byte("x"))
		if n, err := p.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatalf("read %d, %v", n, err)
		}
	})
}

func TestWriteGoesOnBehindAnEarlierDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _, peer := pipe(t)
		p.SetWriteDeadline(in(time.Second))
		p.SetWriteDeadline(in(time.Minute))
		got := make(chan string)
		go func() {
			half := make([]byte, 3)
			io.ReadFull(peer, half)
			time.Sleep(5 * time.Second)
			rest := make([]byte, 3)
			io.ReadFull(peer, rest)
			got <- string(half) + string(rest)
		}()
		if n, err := p.Write([]byte("abcdef")); n != 6 || err != nil {
			t.Errorf("wrote %d, %v", n, err)
		}
		if s := <-got; s != "abcdef" {
			t.Errorf("%q came", s)
		}
		if took := after(func() { p.Write([]byte("x")) }); took != 55*time.Second {
			t.Errorf("given up after %v", took)
		}
	})
}

// What a request of net/http sets costs the connection nothing, five seconds long.
func TestDeadlinesOfARequestAreNotTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, c, _ := pipe(t)
		for range 100 {
			p.SetReadDeadline(in(IdleTime))
			p.SetReadDeadline(in(HeaderTime))
			p.SetReadDeadline(time.Time{})
			p.SetReadDeadline(in(BodyTime))
			p.SetReadDeadline(time.Time{})
			p.SetWriteDeadline(in(AnswerTime))
		}
		if n := c.n.Load(); n != 3 {
			t.Errorf("told of %d deadlines", n)
		}
		p.settle()
		p.SetReadDeadline(in(time.Hour))
		if n := c.n.Load(); n != 5 { // lifted, and set anew
			t.Errorf("told of %d deadlines behind the handover", n)
		}
	})
}

// Requests that come one behind the other on one connection are answered in turn,
// while nobody looks whether the caller is still there, and when a lane does.
func TestNobodyLooksAhead(t *testing.T) {
	for _, there := range []bool{false, true} {
		ended, long := make(chan error, 1), 100*time.Millisecond
		if there {
			long = 20 * time.Second
		}
		s := Server(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			connOf(r).look(there)
			body, err := ReadBody(w, r, BodyTime)
			if err != nil || string(body) != "hold" {
				_, _ = w.Write(body)
				return
			}
			w.(http.Flusher).Flush() // the head: it is being served
			select {
			case <-r.Context().Done():
				ended <- r.Context().Err()
			case <-time.After(long):
				ended <- nil
			}
		}), slog.New(slog.DiscardHandler))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() { _ = s.Serve(Listen(l)) }()
		t.Cleanup(func() { s.Close() })
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		one := "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\n"
		if _, err := io.WriteString(c, one+"a"+one+"b"+"GET / HTTP/1.1\r\nHost: x\r\n\r\n"+one+"c"); err != nil {
			t.Fatal(err)
		}
		r := bufio.NewReader(c)
		var got []string
		for range 4 {
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			b, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(b))
		}
		if s := strings.Join(got, ","); s != "a,b,,c" {
			t.Errorf("answers %q", s)
		}
		if _, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\nhold"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if err := <-ended; (err != nil) != there {
			t.Errorf("asked %v, the context ended with %v", there, err)
		}
	}
}

func TestAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type other struct{}
		c := &Call{ID: "x"}
		shared := &ends{}
		a := &allowance{Context: context.WithValue(t.Context(), other{}, 7), call: c, end: in(3 * time.Second), ends: shared}
		if CallOf(a) != c || a.Value(other{}) != 7 || a.Value("no") != nil {
			t.Error("its values are not there")
		}
		if end, ok := a.Deadline(); !ok || time.Until(end) != 3*time.Second || a.Err() != nil {
			t.Errorf("ends in %v, %v", time.Until(end), a.Err())
		}
		below, cancel := context.WithCancel(a)
		defer cancel()
		gone, leave := context.WithCancel(a)
		leave()
		if gone.Err() != context.Canceled || a.Err() != nil {
			t.Errorf("a derived one ended with %v, it with %v", gone.Err(), a.Err())
		}
		if took := after(func() { <-a.Done() }); took < 3*time.Second || took > 3*time.Second+endStep || a.Err() != context.DeadlineExceeded {
			t.Errorf("ended after %v with %v", took, a.Err())
		}
		if <-below.Done(); below.Err() == nil {
			t.Error("a derived one goes on")
		}
		if late := (&allowance{Context: t.Context(), end: time.Now()}); late.Err() != context.DeadlineExceeded {
			t.Error("it is over and does not say so")
		}
	})
}

// TestEnds: who ends a moment behind another shares its channel, and nobody ends early
// or more than a step late; what is over is forgotten.
func TestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e ends
		channels := map[<-chan struct{}]bool{}
		for range 1000 {
			end := in(time.Second)
			done := e.behind(end)
			channels[done] = true
			go func() {
				if <-done; time.Now().Before(end) || time.Since(end) > endStep {
					t.Errorf("%v behind its end", time.Since(end))
				}
			}()
			time.Sleep(100 * time.Microsecond)
		}
		if len(channels) > int(100*time.Millisecond/endStep)+1 {
			t.Errorf("%d channels", len(channels))
		}
		if took := after(func() { <-e.behind(time.Now().Add(-time.Hour)) }); took > endStep {
			t.Errorf("one that was over waited %v", took)
		}
		time.Sleep(2 * time.Second)
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.at) > 0 {
			t.Errorf("%d are kept", len(e.at))
		}
	})
}
