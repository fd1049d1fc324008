package mirror

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.etcd.io/etcd/server/v3/storage/wal"
)

// server is the PostgreSQL server of the tests.
var server postgresServer

// postgresServer is a server that the tests start for themselves, reached by a socket in its folder.
type postgresServer struct {
	once   sync.Once
	dir    string
	cmd    *exec.Cmd
	log    *os.File
	reason string       // why there is none
	made   atomic.Int64 // number of databases made
}

func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 64 << 10
	rebuildCheck, closeTimeout = 20*time.Millisecond, 3*time.Minute
	if crashHelper() {
		return
	}
	code := m.Run()
	server.stop()
	os.Exit(code)
}

// postgresBinary returns the path of a program of PostgreSQL.
func postgresBinary(name string) (string, error) {
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

func (s *postgresServer) start() {
	initdb, err := postgresBinary("initdb")
	if err != nil {
		s.reason = "PostgreSQL is not installed: " + err.Error()
		return
	}
	binary, err := postgresBinary("postgres")
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
	s.cmd = exec.Command(binary, "-D", data, "-c", "listen_addresses=", "-c", "unix_socket_directories="+s.dir, "-c", "fsync="+fsyncOf())
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, s.log, s.log
	asNobody(s.cmd)
	if err := s.cmd.Start(); err != nil {
		s.reason, s.cmd = err.Error(), nil
		return
	}
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		c, err := pgx.Connect(context.Background(), s.dsn("duplex", "postgres"))
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

func (s *postgresServer) dsn(user, database string) string {
	q := url.Values{"host": {s.dir}}
	return "postgres://" + user + "@/" + database + "?" + q.Encode()
}

func (s *postgresServer) stop() {
	if s.cmd != nil {
		s.cmd.Process.Signal(syscall.SIGINT) // a fast shutdown
		s.cmd.Wait()
	}
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// available reports whether there is a server. DX_POSTGRES=off leaves out one that is there, so that the
// gate runs the same tests on every machine.
func (s *postgresServer) available() bool {
	s.once.Do(func() {
		if os.Getenv("DX_POSTGRES") == "off" {
			s.reason = "DX_POSTGRES is off"
			return
		}
		s.start()
	})
	return s.reason == ""
}

// newPostgres returns the address of an empty database. Without a server it skips the test, or fails
// it if DX_POSTGRES is "required".
func newPostgres(t testing.TB) string {
	t.Helper()
	if !server.available() {
		if os.Getenv("DX_POSTGRES") == "required" {
			t.Fatal(server.reason)
		}
		t.Skip(server.reason)
	}
	name := fmt.Sprint("t", server.made.Add(1))
	sqlOn(t, "postgres", "CREATE DATABASE "+name)
	return server.dsn("duplex", name)
}

// sqlOn runs statements as the superuser.
func sqlOn(t testing.TB, database string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), server.dsn("duplex", database))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, q := range statements {
		if _, err := c.Exec(context.Background(), q); err != nil {
			t.Fatal(errors.Join(errors.New(q), err))
		}
	}
}

// execute changes the database of a mirror that is open. The one connection of a PostgreSQL projector
// may be at work, so that it takes another.
func execute(t testing.TB, m *Mirror, dsn string, statements ...string) {
	t.Helper()
	if strings.HasPrefix(dsn, "postgres") {
		sqlOn(t, filepath.Base(strings.Split(dsn, "?")[0]), statements...)
		return
	}
	for _, q := range statements {
		if err := (*m.store.Load()).(executor).exec(ctx, q); err != nil {
			t.Fatal(q, err)
		}
	}
}

// databases runs a test on an empty database of each kind.
func databases(t *testing.T, f func(t *testing.T, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { f(t, SQLitePath(tempDir(t))) })
	t.Run("postgres", func(t *testing.T) { f(t, newPostgres(t)) })
}
