package mirror

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.etcd.io/etcd/server/v3/storage/wal"

	"duplex/internal/postgrestest"
)

// server is the PostgreSQL server of the tests.
var server postgrestest.Server

func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 64 << 10
	rebuildCheck, closeTimeout = 20*time.Millisecond, 3*time.Minute
	if crashHelper() {
		return
	}
	code := m.Run()
	server.Stop()
	os.Exit(code)
}

// newPostgres returns the address of an empty database.
func newPostgres(t testing.TB) string {
	t.Helper()
	return server.New(t)
}

// sqlOn runs statements as the superuser.
func sqlOn(t testing.TB, database string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), server.DSN("duplex", database))
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
