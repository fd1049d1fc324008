package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"duplex/client"
	"duplex/schemas"
)

var revocations = flag.Int("revocations", 10, "pairs of a revocation and a use of the key on another member in TestClusterKeys")

// clusterKey is an API key of a cluster's account.
type clusterKey struct {
	APIKey string `json:"api_key"`
	Secret string `json:"secret"`
	secret []byte
}

// createKey makes a key that may trade, on a member, and waits until every member knows it.
func (c *clusterTrial) createKey(i int, user uint32) (k clusterKey) {
	c.Helper()
	if status, err := c.admin(c.Context(), i, "POST", fmt.Sprintf("/admin/users/%d/keys", user), map[string]any{"scopes": []string{"read", "trade"}}, &k); err != nil || status != 201 {
		c.Fatal(status, err)
	}
	var ok bool
	if k.secret, ok = schemas.ParseSecret(k.Secret); !ok {
		c.Fatal("the secret has another form")
	}
	for i := range c.members {
		at := c.client(i, k)
		var err error
		if !within(3*time.Minute, func() bool { _, err = at.Balance(c.Context()); return err == nil }) {
			c.Fatal(err)
		}
	}
	return k
}

// client returns a client of a member, which repeats nothing.
func (c *clusterTrial) client(i int, k clusterKey) *client.Client {
	return client.Must(client.New(c.url(i, 8080), k.APIKey, k.secret, client.MaxAttempts(1), client.WithHTTPClient(c.http)))
}

// TestClusterKeys checks that the members judge a key as one venue does: it has its rate once although
// it is used on all of them, nothing that was sent after a revocation was answered is executed, and of
// two requests with the same bytes on two members one is executed.
//
//	go test ./cmd/dx -run ClusterKeys -revocations 10000 -v -timeout 60m
func TestClusterKeys(t *testing.T) {
	skipUnlessLong(t)
	c := startCluster(t)
	user := c.createUser("trader")
	t.Run("one rate", func(t *testing.T) { c.oneRate(t, user) })
	t.Run("revocation", func(t *testing.T) { c.revocation(t, user) })
	t.Run("replay", func(t *testing.T) { c.replay(t, user) })
}

func (c *clusterTrial) oneRate(t *testing.T, user uint32) {
	const perSecond = 40 // cancel tokens of a new account, and the burst
	k := c.createKey(0, user)
	var accepted, limited atomic.Int64
	var senders sync.WaitGroup
	began := time.Now()
	for i := range 3 {
		at := c.client(i, k)
		for range 2 {
			senders.Go(func() {
				for time.Since(began) < 2*time.Second {
					switch _, err := at.ArmDeadman(t.Context(), 60_000); {
					case err == nil:
						accepted.Add(1)
					case codeOf(err) == "rate_limited":
						limited.Add(1)
					default:
						t.Error(err)
						return
					}
				}
			})
		}
	}
	senders.Wait()
	once := perSecond * (1 + time.Since(began).Seconds())
	// Six requests at a time may be on their way to the other members.
	if n := float64(accepted.Load()); n > 1.25*once || n < 0.75*once {
		t.Errorf("%v of a key spread over three members were accepted; its rate and burst are %.0f", n, once)
	}
	t.Logf("%d accepted, %d rate_limited; rate and burst of one member: %.0f", accepted.Load(), limited.Load(), once)
}

func (c *clusterTrial) revocation(t *testing.T, user uint32) {
	after, before := 0, 0
	for n := range *revocations {
		k := c.createKey(n%3, user)
		other := c.client((n+1)%3, k)
		type use struct {
			sent time.Time
			err  error
		}
		uses := make(chan use, 1000)
		stop := make(chan struct{})
		var using sync.WaitGroup
		using.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				sent := time.Now()
				_, err := other.ArmDeadman(t.Context(), 60_000)
				select {
				case uses <- use{sent, err}:
				default:
				}
			}
		})
		list := []use{<-uses}
		var done map[string]any
		status, err := c.admin(t.Context(), n%3, "DELETE", fmt.Sprintf("/admin/users/%d/keys/%s", user, k.APIKey), nil, &done)
		revoked := time.Now()
		if err != nil || status != 200 {
			t.Fatal(status, err)
		}
		for list[len(list)-1].sent.Before(revoked) || len(list) < 5 {
			list = append(list, <-uses)
		}
		close(stop)
		using.Wait()
		close(uses)
		for u := range uses {
			list = append(list, u)
		}
		for { // a member that has not applied the revocation yet may limit the rate before it judges the key
			_, err := other.ArmDeadman(t.Context(), 60_000)
			if codeOf(err) == "rate_limited" {
				continue
			}
			if codeOf(err) != "unauthorized" {
				t.Errorf("pair %d: a use after the revocation: %v", n, err)
				after++
			}
			break
		}
		for _, u := range list {
			switch {
			case u.err == nil && u.sent.After(revoked):
				after++
			case u.err == nil:
				before++
			}
		}
	}
	if after > 0 {
		t.Errorf("%d uses of a key were executed after its revocation was answered", after)
	}
	t.Logf("%d pairs, %d uses before the revocation, %d after it", *revocations, before, after)
}

// replay sends the same signed bytes to two members at once.
func (c *clusterTrial) replay(t *testing.T, user uint32) {
	k := c.createKey(0, user)
	first, refused := 0, 0
	for n := 0; n < *revocations; n++ {
		ts := fmt.Sprint(time.Now().UnixMilli())
		target := "/v1/portfolio/orders"
		signature := schemas.Sign(k.secret, ts, "DELETE", target, nil)
		type answer struct {
			status int
			body   string
			err    error
		}
		answers := make(chan answer, 2)
		for i := range 2 {
			go func() {
				r, err := http.NewRequestWithContext(t.Context(), "DELETE", c.url((n+i)%3, 8080)+target, nil)
				if err != nil {
					answers <- answer{err: err}
					return
				}
				r.Header.Set(schemas.HeaderKey, k.APIKey)
				r.Header.Set(schemas.HeaderTimestamp, ts)
				r.Header.Set(schemas.HeaderSignature, signature)
				resp, err := http.DefaultClient.Do(r)
				if err != nil {
					answers <- answer{err: err}
					return
				}
				defer resp.Body.Close()
				text, err := io.ReadAll(resp.Body)
				answers <- answer{resp.StatusCode, string(text), err}
			}()
		}
		a, b := <-answers, <-answers
		if a.err != nil || b.err != nil {
			t.Fatal(a.err, b.err)
		}
		if a.status == 429 || b.status == 429 {
			n--
			time.Sleep(20 * time.Millisecond) // a token is added every 25 ms
			continue
		}
		if a.status != 200 {
			a, b = b, a
		}
		var s schemas.Sequenced
		if err := json.Unmarshal([]byte(a.body), &s); err != nil || a.status != 200 {
			t.Fatalf("neither was executed: %+v %+v", a, b)
		}
		switch {
		case b.status == 200 && b.body == a.body:
			first++
		case b.status == 401:
			refused++
		default:
			t.Errorf("%+v and %+v", a, b)
		}
	}
	t.Logf("of %d repeats %d got the first response and %d were refused", *revocations, first, refused)
	if first+refused == 0 {
		t.Error("nothing was sent twice")
	}
}

// TestClusterMasterKey replaces the master key member by member. Keys that are made on any member
// meanwhile work on every member, and at the end no member needs the old master key.
func TestClusterMasterKey(t *testing.T) {
	skipUnlessLong(t)
	const next = "ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100"
	c := startCluster(t)
	user := c.createUser("trader")
	keys := []clusterKey{c.createKey(0, user)}
	restart := func(i int) {
		c.terminate(i)
		c.start(i)
		c.waitServing(i)
	}
	use := func(when string) {
		for i := range c.members {
			for _, k := range keys {
				if _, err := c.client(i, k).Balance(t.Context()); err != nil {
					t.Errorf("%s: %s on member %s: %v", when, k.APIKey, memberNames[i], err)
				}
			}
		}
	}
	c.kill(2)
	c.env = []string{"DX_MASTER_KEY=" + next}
	c.start(2)
	c.endsWith(2, 2, "master key")
	c.env = append(c.env, "DX_MASTER_KEY_OLD="+clusterMasterKey)
	c.start(2)
	c.waitServing(2)
	for i := range 3 {
		keys = append(keys, c.createKey((i+2)%3, user)) // on a member with both keys, whose others have one
		use(fmt.Sprint(i, " members have the new key"))
		if i < 2 {
			restart(i)
		}
	}
	sealed := func(m *memberProcess) bool {
		return strings.Contains(m.logs.String(), "every secret is sealed under the new master key")
	}
	if !within(3*time.Minute, func() bool { return slices.ContainsFunc(c.members, sealed) }) {
		t.Fatal("the secrets are not sealed again")
	}
	keys = append(keys, c.createKey(1, user))
	c.env = c.env[:1]
	for i := range 3 {
		restart(i)
	}
	use("without the old key")
}
