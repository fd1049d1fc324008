package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"duplex/cluster"
	"duplex/cmd/dx/cli"
	"duplex/server"
)

// A dev venue of several members (docs/guides/cluster.md) is one process for each, which `dx dev
// --members 3` starts: the first has the accounts, the maker and the noise traders.

// devMember is what `dx dev --members` tells a member, in the environment variable devMemberVariable.
type devMember struct {
	Name, Peer, Follow string
	Members            []cluster.Address
	MasterKey          string
	OperatorToken      string
}

const devMemberVariable = "DX_DEV_MEMBER"

// member reads devMemberVariable; nil: this venue is not a member.
func (d *devCmd) member() (*devMember, error) {
	text := os.Getenv(devMemberVariable)
	if text == "" {
		return nil, nil
	}
	m := &devMember{}
	return m, json.Unmarshal([]byte(text), m)
}

// to sets the options of a member.
func (m *devMember) to(o *server.Options) (err error) {
	o.Cluster = &cluster.Options{Name: m.Name, Members: m.Members, PeerListen: m.Peer, FollowListen: m.Follow}
	o.OperatorToken = m.OperatorToken
	o.MasterKey, err = hex.DecodeString(m.MasterKey)
	if m.Name != m.Members[0].Name {
		o.Accounts = nil
	}
	return err
}

// checkMembers checks --members.
func (d *devCmd) checkMembers() error {
	if d.Members != 3 && d.Members != 5 {
		return cli.BadFlag("members", errors.New("three or five members form a cluster"))
	}
	return nil
}

// memberPorts is between the ports of a member and those of the next one.
const memberPorts = 100

// runMembers starts the members, and waits until ctx ends or none is left.
func (d *devCmd) runMembers(ctx context.Context, out io.Writer, log *slog.Logger) error {
	if err := d.checkMembers(); err != nil {
		return err
	}
	data := d.Data
	if data == "" {
		var err error
		if data, err = os.MkdirTemp("", "dx-dev-"); err != nil {
			return err
		}
		defer os.RemoveAll(data)
	}
	list, err := d.membersOf(data)
	if err != nil {
		return err
	}
	var running []*runningMember
	all := make(chan struct{})
	var ended sync.WaitGroup
	for i, m := range list {
		r, err := m.start()
		if err != nil {
			return errors.Join(err, stopMembers(running))
		}
		running = append(running, r)
		if i > 0 {
			fmt.Fprintf(out, "Member %s: API %s, admin %s, process %d\n", m.Name, m.api, m.admin, r.cmd.Process.Pid)
		} else {
			fmt.Fprintf(out, "Member %s: process %d; it has the accounts, the house maker and the noise traders\n", m.Name, r.cmd.Process.Pid)
		}
		ended.Go(func() {
			<-r.ended
			if ctx.Err() == nil {
				log.Warn("a member has ended; the others go on while they are a majority", "member", m.Name, "err", r.err)
			}
		})
	}
	go func() {
		ended.Wait()
		close(all)
	}()
	select {
	case <-ctx.Done():
		return stopMembers(running)
	case <-all:
		return fmt.Errorf("every member has ended, the last one with: %w", running[len(running)-1].err)
	}
}

// memberOfDev is how to start a member.
type memberOfDev struct {
	devMember
	api, portal, admin string
	args               []string
}

// membersOf returns how to start each member. What is in data from an earlier run stays: the master
// key, the ports and the addresses follow from the flags.
func (d *devCmd) membersOf(data string) (list []memberOfDev, err error) {
	key, err := server.LoadOrCreateSecret(filepath.Join(data, "master.key"))
	if err != nil {
		return nil, err
	}
	token := make([]byte, 24)
	rand.Read(token) // never fails
	members := make([]memberOfDev, d.Members)
	var addresses []cluster.Address
	for i := range members {
		m := &members[i]
		m.Name, m.MasterKey, m.OperatorToken = string(rune('a'+i)), key, hex.EncodeToString(token)
		for _, p := range []struct {
			to   *string
			from string
		}{{&m.api, d.API}, {&m.portal, d.Portal}, {&m.admin, d.Admin}, {&m.Peer, d.memberPeer()}, {&m.Follow, d.memberFollow()}} {
			if *p.to, err = addPort(p.from, i*memberPorts); err != nil {
				return nil, err
			}
		}
		addresses = append(addresses, cluster.Address{Name: m.Name, Peer: m.Peer})
	}
	for i := range members {
		m := &members[i]
		m.Members = addresses
		m.args = append(d.passedOn(), "--api", m.api, "--portal", m.portal, "--admin", m.admin, "--data", filepath.Join(data, m.Name), "--mirror", "off")
		if i > 0 {
			m.args = append(m.args, "--no-maker", "--quiet", "--dev-file", filepath.Join(data, m.Name, "dev.json"))
		}
	}
	return members, nil
}

func (d *devCmd) memberPeer() string   { return hostOf(d.API) + ":7000" }
func (d *devCmd) memberFollow() string { return hostOf(d.API) + ":7001" }

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return "127.0.0.1"
	}
	return host
}

// addPort adds to the port of an address.
func addPort(address string, n int) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	p, err := strconv.Atoi(port)
	if err != nil || p == 0 || p+n > 65535 {
		return "", cli.BadFlag("members", fmt.Errorf("each member has ports %d above those of the one before: %s does not leave room", memberPorts, address))
	}
	return net.JoinHostPort(host, strconv.Itoa(p+n)), nil
}

// passedOn are the flags of this command that the members get, as they were given.
func (d *devCmd) passedOn() (args []string) {
	own := map[string]bool{"--members": true, "--api": true, "--portal": true, "--admin": true, "--data": true, "--mirror": true}
	rest := os.Args[1:]
	for i := 0; i < len(rest); i++ {
		name, _, joined := strings.Cut(rest[i], "=")
		if !own[name] {
			args = append(args, rest[i])
			continue
		}
		if !joined {
			i++ // the value is an argument of its own
		}
	}
	return args
}

// stopMemberWithin is how long a member may take to stop.
const stopMemberWithin = 20 * time.Second

// runningMember is the process of a member.
type runningMember struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{} // closed when it has ended
	err   error         // of its end
}

func (m *memberOfDev) start() (*runningMember, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(m.devMember)
	if err != nil {
		return nil, err
	}
	r := &runningMember{name: m.Name, cmd: exec.Command(self, m.args...), ended: make(chan struct{})}
	r.cmd.Env = append(os.Environ(), devMemberVariable+"="+string(text))
	r.cmd.Stdout, r.cmd.Stderr = os.Stdout, os.Stderr
	if err := r.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		r.err = r.cmd.Wait()
		close(r.ended)
	}()
	return r, nil
}

// stopMembers stops the members that have not ended, one after the other, the first one with the
// traders first: what they still ask for is decided by a majority. (Ctrl-C in a terminal reaches all at
// once.) It returns what went wrong with them.
func stopMembers(members []*runningMember) (err error) {
	var left []*runningMember
	for _, m := range members {
		select {
		case <-m.ended:
		default:
			left = append(left, m)
		}
	}
	for _, m := range left {
		_ = m.cmd.Process.Signal(syscall.SIGTERM) // fails if it has ended
		select {
		case <-m.ended:
			// A signal that ended it came from somebody else, who knows.
			if m.err != nil && m.cmd.ProcessState.Exited() {
				err = errors.Join(err, fmt.Errorf("member %s at the stop: %w", m.name, m.err))
			}
		case <-time.After(stopMemberWithin):
			_ = m.cmd.Process.Kill()
			<-m.ended
			err = errors.Join(err, fmt.Errorf("member %s did not stop within %v and was killed", m.name, stopMemberWithin))
		}
	}
	return err
}

// printMembers says where the other members are.
func (m *devMember) printMembers(out io.Writer, api, flags string) {
	fmt.Fprintf(out, "This is member %s of %d. The API of each next one is %d ports higher:", m.Name, len(m.Members), memberPorts)
	for i := range m.Members[1:] {
		if u, err := url.Parse(api); err == nil {
			if next, err := addPort(u.Host, (i+1)*memberPorts); err == nil {
				fmt.Fprintf(out, " http://%s", next)
			}
		}
	}
	fmt.Fprintf(out, "\n  %s cluster status%s\n\n", cli.CommandName(), flags)
}
