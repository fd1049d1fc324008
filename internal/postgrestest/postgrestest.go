// Package postgrestest starts a PostgreSQL server for the tests of a package, if the machine has the programs.
package postgrestest

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a server that the tests of a package start for themselves, reached by a socket in its folder. The
// zero value starts with the first use. Its methods are safe for concurrent use, except Stop.
type Server struct {
	once   sync.Once
	dir    string
	cmd    *exec.Cmd
	log    *os.File
	reason string       // why there is none
	made   atomic.Int64 // number of databases made
}

// binary returns the path of a program of PostgreSQL.
func binary(name string) (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err == nil && len(found) > 0 {
		return found[len(found)-1], nil
	}
	return exec.LookPath(name)
}

// asNobody makes a command run as another user than root, which PostgreSQL refuses.
func asNobody(cmd *exec.Cmd) {
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
}

func (s *Server) start() {
	initdb, err := binary("initdb")
	if err != nil {
		s.reason = "PostgreSQL is not installed: " + err.Error()
		return
	}
	program, err := binary("postgres")
	if err != nil {
		s.reason = "PostgreSQL is not installed: " + err.Error()
		return
	}
	parent := ""
	if _, err := os.Stat("/dev/shm"); err == nil {
		parent = "/dev/shm"
	}
	if s.dir, err = os.MkdirTemp(parent, "mirror-pg"); err != nil {
		s.reason = err.Error()
		return
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(s.dir, 65534, 65534); err != nil {
			s.reason = err.Error()
			return
		}
	}
	data := filepath.Join(s.dir, "data")
	cmd := exec.Command(initdb, "-D", data, "-A", "trust", "-U", "duplex", "--no-sync", "-E", "UTF8", "--locale", "C")
	cmd.Dir = s.dir
	asNobody(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		s.reason = fmt.Sprintf("initdb: %v: %s", err, bytes.TrimSpace(out))
		return
	}
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		s.reason = err.Error()
		return
	}
	s.cmd = exec.Command(program, "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+s.dir, "-c", "fsync="+fsyncOf())
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, s.log, s.log
	asNobody(s.cmd)
	if err := s.cmd.Start(); err != nil {
		s.reason, s.cmd = err.Error(), nil
		return
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := pgx.Connect(context.Background(), s.DSN("duplex", "postgres"))
		if err == nil {
			c.Close(context.Background())
			return
		}
		if time.Now().After(end) {
			s.reason = err.Error()
			return
		}
	}
}

// fsyncOf lets a measurement sync to the disk.
func fsyncOf() string {
	if os.Getenv("MIRROR_TEST_FSYNC") != "" {
		return "on"
	}
	return "off"
}

// DSN returns the address of a database for a user.
func (s *Server) DSN(user, database string) string {
	q := url.Values{"host": {s.dir}}
	return "postgres://" + user + "@/" + database + "?" + q.Encode()
}

// Stop ends the server and removes its folder. The package calls it behind its tests.
func (s *Server) Stop() {
	if s.cmd != nil {
		s.cmd.Process.Signal(syscall.SIGINT) // a fast shutdown
		s.cmd.Wait()
	}
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// Available reports whether there is a server. DX_POSTGRES=off leaves out one that is there, so that the
// gate runs the same tests on every machine.
func (s *Server) Available() bool {
	s.once.Do(func() {
		if os.Getenv("DX_POSTGRES") == "off" {
			s.reason = "DX_POSTGRES is off"
			return
		}
		s.start()
	})
	return s.reason == ""
}

// New returns the address of an empty database. Without a server it skips the test, or fails it if DX_POSTGRES
// is "required".
func (s *Server) New(t testing.TB) string {
	t.Helper()
	if !s.Available() {
		if os.Getenv("DX_POSTGRES") == "required" {
			t.Fatal(s.reason)
		}
		t.Skip(s.reason)
	}
	name := fmt.Sprint("t", s.made.Add(1))
	c, err := pgx.Connect(context.Background(), s.DSN("duplex", "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(context.Background(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	return s.DSN("duplex", name)
}
