package mirror

import (
	"testing"
)

// TestRows checks that the rows equal those of a view that keeps all of them.
func TestRows(t *testing.T) { databases(t, testRows) }

func testRows(t *testing.T, dsn string) {
	v := newVenueLog(t, 1)
	v.run(200)
	m := v.start(v.options(dsn))
	v.run(200)
	v.waitFor(m)
	v.check(m)
	rows := m.Stats().Rows
	for name, least := range map[string]uint64{"users": testUsers, "orders": 1000, "fills": 500, "trades": 250, "settlements": 5, "ledger": 1000, "rounds": 5, "evidence": 100, "round_seconds": 500, "ticks": 390, "user_rounds": 10, "actions": 50} {
		if rows[name] < least {
			t.Errorf("%s: %d rows were written, too few for this test", name, rows[name])
		}
	}
	t.Log(rows)
}

// crashHelper is the process that a test kills.
func crashHelper() bool { return false }
