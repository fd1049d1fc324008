package operator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"duplex/cluster"
	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

type (
	// Cluster is `dx cluster`.
	Cluster struct {
		Status     clusterStatus  `cmd:"" help:"List the members. Exits with 1 if anything is wrong."`
		Certs      clusterCerts   `cmd:"" help:"Make the certificates of the members and followers."`
		Add        clusterAdd     `cmd:"" help:"Add a member, which then starts with --join; it gets its vote once it has caught up."`
		Remove     clusterRemove  `cmd:"" help:"Remove a member for good."`
		Promote    clusterPromote `cmd:"" help:"Give a member that was added its vote now."`
		MoveLeader clusterLead    `cmd:"" help:"Give the lead to a member."`
		Defrag     clusterDefrag  `cmd:"" help:"Write etcd's database of every member anew, and let etcd take writes again after it was full."`
		Init       clusterInit    `cmd:"" help:"Turn the data of a stopped single machine into that of the first member."`
		Detach     clusterDetach  `cmd:"" help:"Turn the data of a stopped member into that of a single machine."`
		Recover    clusterRecover `cmd:"" help:"Begin a new cluster with the data of a stopped member, after the majority is lost for good."`
	}
	clusterStatus struct{ operatorFlags }
	clusterCerts  struct {
		Dir      string   `arg:"" help:"Folder of ca.crt, ca.key, NAME.crt and NAME.key." type:"path"`
		Members  []string `arg:"" optional:"" help:"Members, each NAME=HOST." placeholder:"NAME=HOST"`
		Follower []string `help:"A follower; repeat it for several." placeholder:"NAME=HOST" sep:"none"`
		Valid    string   `help:"How long the certificates are valid, from 1s to 3650d: 12h, 730d. None outlasts its authority." default:"730d" placeholder:"DURATION"`
		Renew    bool     `help:"Replace NAME.crt of nodes that have one, by a certificate of the same key and authority."`
	}
	clusterAdd struct {
		operatorFlags
		Member string `arg:"" help:"NAME=HOST:PORT, with the address of its peer port."`
	}
	clusterRemove struct {
		memberArg
		LoseHistory bool `help:"Remove it although no other member that is up has as much of the history."`
	}
	clusterPromote struct{ memberArg }
	clusterLead    struct{ memberArg }
	clusterDefrag  struct{ operatorFlags }
	memberArg      struct {
		operatorFlags
		Name string `arg:"" help:"Name of the member."`
	}
)

// Help implements kong.HelpProvider.
func (Cluster) Help() string {
	return `A member is reached through its admin listener: DX_ADMIN_URL and DX_OPERATOR_TOKEN, or the dev file. Members change one at a time, and only while a majority is up and no running member lags.

Examples:
  dx cluster certs certs a=10.0.0.1 b=10.0.0.2 c=10.0.0.3
  dx cluster certs certs a=10.0.0.1 b=10.0.0.2 c=10.0.0.3 --renew
  dx cluster status
  dx cluster add d=10.0.0.4:7000
  dx cluster remove c
  dx cluster move-leader b
  dx cluster init --data /var/lib/dx --node a --cluster a=10.0.0.1:7000,b=10.0.0.2:7000,c=10.0.0.3:7000
  dx cluster recover --data /var/lib/dx --also /mnt/disk-of-b/dx`
}

func (c *clusterStatus) Run(ctx context.Context, out io.Writer) error {
	text, err := c.response(ctx, "GET", "/cluster", nil)
	if err != nil {
		return err
	}
	var s schemas.ClusterStatus
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	if c.JSON {
		fmt.Fprintf(out, "%s\n", text)
	} else if err := printCluster(out, &s); err != nil {
		return err
	}
	return checkCluster(&s)
}

// ErrNoCluster is the error of ReadCluster for a venue that has no members: a single machine or a
// follower.
var ErrNoCluster = errors.New("this venue has no members")

// ReadCluster reads the members of a cluster from the admin listener at base.
func ReadCluster(ctx context.Context, base, token string) (s schemas.ClusterStatus, err error) {
	text, err := send(ctx, base, token, "GET", "/cluster", nil)
	if failed, ok := errors.AsType[*venueError](err); ok && failed.wire.Code == "invalid_transition" {
		return s, ErrNoCluster
	}
	if err != nil {
		return s, err
	}
	return s, json.Unmarshal(text, &s)
}

func printCluster(out io.Writer, s *schemas.ClusterStatus) error {
	fmt.Fprintf(out, "cluster %s, leader %s", s.ClusterID, cmp.Or(s.Leader, "none"))
	if s.CAEndTs > 0 {
		fmt.Fprintf(out, ", authority ends %s", day(s.CAEndTs))
	}
	fmt.Fprint(out, "\n\n")
	t := cli.NewTable("node", "role", "state", "seq", "group", "behind", "attested", "history", "clock ms", "disk free", "cert ends", "version", "peer")
	for _, m := range s.Members {
		if m.Number == 0 && m.DiskFree == 0 { // it does not answer
			t.Row(m.Node, m.Role, m.State, "-", "-", "-", "-", "-", "-", "-", "-", "-", m.Peer)
			continue
		}
		behind, attested := any("-"), "-"
		if m.Behind != nil {
			behind = *m.Behind
		}
		if m.StateHash != "" {
			attested = cli.ID(m.AttestedSeq)
		}
		t.Row(m.Node, m.Role, m.State, cli.ID(m.Seq), cli.ID(m.Number), behind, attested, historyOf(&m), fmt.Sprintf("%+.1f", m.ClockOffsetMs), humanize.Bytes(uint64(m.DiskFree)), day(m.CertEndTs), m.Version, m.Peer)
	}
	return t.Print(out, "")
}

// historyOf says how much of the history a member knows.
func historyOf(m *schemas.ClusterMember) string {
	switch since := m.HistorySinceSeq; {
	case since == nil:
		return "-"
	case *since == 0:
		return "all"
	default:
		return fmt.Sprint("after ", *since)
	}
}

// day is the day of a time in ns; - if that is 0.
func day(ts schemas.U64) string {
	if ts == 0 {
		return "-"
	}
	return time.Unix(0, int64(ts)).UTC().Format(time.DateOnly)
}

// checkCluster returns an error if something is wrong: no leader, a member that does not serve or whose
// certificate has ended, or members that attest different states.
func checkCluster(s *schemas.ClusterStatus) error {
	var wrong []string
	if s.Leader == "" {
		wrong = append(wrong, "no leader is known")
	}
	hashes := map[schemas.U64]string{}
	mirrors := slices.ContainsFunc(s.Members, func(m schemas.ClusterMember) bool { return m.HistorySinceSeq != nil })
	for _, m := range s.Members {
		if mirrors && m.State == "serving" && m.HistorySinceSeq == nil {
			wrong = append(wrong, "the mirror of "+m.Node+" is not open: its log says why")
		}
		if m.State != "serving" {
			wrong = append(wrong, m.Node+" is "+m.State)
		}
		if m.CertEndTs > 0 && m.CertEndTs < schemas.U64(time.Now().UnixNano()) {
			wrong = append(wrong, fmt.Sprintf("the certificate of %s ended on %s", m.Node, day(m.CertEndTs)))
		}
		if h := hashes[m.AttestedSeq]; m.StateHash != "" && h != "" && h != m.StateHash {
			wrong = append(wrong, fmt.Sprintf("%s has another state at seq %d", m.Node, m.AttestedSeq))
		} else if m.StateHash != "" {
			hashes[m.AttestedSeq] = m.StateHash
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "; "))
	}
	return nil
}

func (c *clusterCerts) Run(out io.Writer) error {
	if len(c.Members)+len(c.Follower) == 0 {
		return cli.BadFlag("follower", errors.New("name a member or a follower"))
	}
	members, err := certHosts(c.Members)
	if err != nil {
		return err
	}
	followers, err := certHosts(c.Follower)
	if err != nil {
		return err
	}
	valid, err := parseValidity(c.Valid)
	if err != nil {
		return cli.BadFlag("valid", err)
	}
	end, err := cluster.WriteCerts(c.Dir, members, followers, cluster.CertOptions{Valid: valid, Renew: c.Renew, Now: time.Now()})
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%w: no file is ever replaced, except NAME.crt with --renew", err)
	}
	if err != nil {
		return err
	}
	next := "Copy ca.crt, NAME.crt and NAME.key to the machine NAME; keep ca.key where no venue runs."
	if c.Renew {
		next = "Copy NAME.crt to the machine NAME, which uses it within 10 s."
	}
	_, err = fmt.Fprintf(out, "%d certificates, which end on %s, are in %s. %s\n", len(members)+len(followers), end.UTC().Format(time.DateTime), c.Dir, next)
	return err
}

// maxValidity is how long an authority that dx makes is valid, but for leap days.
const maxValidity = 3650 * 24 * time.Hour

// parseValidity reads a duration such as 60s, 12h or 730d.
func parseValidity(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if days, ok := strings.CutSuffix(text, "d"); ok {
		var n uint64
		n, err = cli.ParseUint(days, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d < time.Second || d > maxValidity {
		return 0, fmt.Errorf("%q is not a duration from 1s to 3650d, such as 12h or 730d", text)
	}
	return d, nil
}

func certHosts(list []string) (out []cluster.CertHost, err error) {
	for _, text := range list {
		name, host, ok := strings.Cut(text, "=")
		if !ok || host == "" {
			return nil, cli.BadFlag("members", fmt.Errorf("%q is not NAME=HOST", text))
		}
		if err := cluster.CheckName(name); err != nil {
			return nil, cli.BadFlag("members", err)
		}
		out = append(out, cluster.CertHost{Name: name, Host: host})
	}
	return out, nil
}

func (c *clusterAdd) Run(ctx context.Context, out io.Writer) error {
	name, peer, ok := strings.Cut(c.Member, "=")
	if !ok {
		return cli.BadFlag("member", fmt.Errorf("%q is not NAME=HOST:PORT", c.Member))
	}
	return c.request(ctx, out, "POST", "/cluster/members", schemas.AddMember{Name: name, Peer: peer, AuditReason: c.auditReason()})
}

func (c *clusterRemove) Run(ctx context.Context, out io.Writer) error {
	path := "/cluster/members/" + url.PathEscape(c.Name)
	if c.LoseHistory {
		path += "?lose_history=true"
	}
	return c.request(ctx, out, "DELETE", path, c.auditReason())
}

func (c *clusterPromote) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "POST", "/cluster/members/"+url.PathEscape(c.Name)+"/promote", c.auditReason())
}

func (c *clusterLead) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "POST", "/cluster/leader", schemas.MoveLeader{Name: c.Name, AuditReason: c.auditReason()})
}

func (c *clusterDefrag) Run(ctx context.Context, out io.Writer) error {
	return c.request(ctx, out, "POST", "/cluster/defrag", c.auditReason())
}
