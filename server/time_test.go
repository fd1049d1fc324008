package server

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wallClock lists the files of the venue that read the machine's clock, with the reason. Everything
// else takes venue time from tools.Config.Now or from a stamp, and wall time as tools.WallTime.
var wallClock = map[string]string{
	"core/engine/checkpoint.go":       "how long a hash takes",
	"core/engine/clock.go":            "the monotonic clock of a member",
	"core/engine/commit.go":           "how long a group takes",
	"core/engine/disk_space.go":       "when the disk was last asked",
	"core/engine/engine.go":           "the default of Options.Now",
	"core/engine/member.go":           "contact with other machines",
	"core/engine/propose.go":          "how long a sync takes",
	"core/engine/queue.go":            "how long a group takes",
	"core/engine/snapshot.go":         "how long a snapshot takes",
	"core/engine/system_commands.go":  "contact with other machines",
	"core/journal/file.go":            "the default of Options.Now",
	"core/mirror/lease.go":            "when to try for the lease again, and how long rows are on their way to the disk",
	"core/mirror/mirror.go":           "how long a start and a stop take",
	"core/mirror/projector.go":        "how long rows take, and when the next snapshot is due",
	"core/mirror/query.go":            "how long a read takes",
	"lanes/funding/service.go":        "the default of Options.Now",
	"lanes/gate/body.go":              "deadline of a body",
	"lanes/gate/malformed.go":         "the Date header",
	"lanes/gate/pipeline.go":          "how long a request takes",
	"lanes/gate/places.go":            "how long a connection is idle",
	"lanes/mcp/sse.go":                "deadline of a write",
	"lanes/ws/command.go":             "rate of snapshots to a connection",
	"lanes/ws/conn.go":                "deadline of a write",
	"lanes/ws/lane.go":                "pings of a connection",
	"lanes/ws/pump.go":                "rate of snapshots to a connection",
	"lanes/ws/send_queue.go":          "deadline of a close",
	"lanes/ws/update_subscription.go": "rate of snapshots to a connection",
	"server/archive.go":               "age of the archive",
	"cluster/cluster.go":              "contact with other machines",
	"cluster/defrag.go":               "when a database was last written anew",
	"cluster/lead.go":                 "how long syncs take",
	"cluster/forming.go":              "how long a start waits for the other members",
	"cluster/follow.go":               "the clock of a node that starts, and contact with other machines",
	"cluster/follower.go":             "contact with other machines",
	"cluster/follower_log.go":         "contact with other machines",
	"cluster/log.go":                  "the default of journal.Options.Now",
	"cluster/listen.go":               "how long a start waits for an address",
	"cluster/membership.go":           "contact with other machines",
	"cluster/peers.go":                "contact with other machines",
	"arena/process.go":                "how long agents take to end",
	"arena/trajectory.go":             "when a call was made, by the machine's clock",
	"arena/turns.go":                  "stalls, and the pace of a run in real time",
	"server/options.go":               "the default of Options.Now",
	"server/starting.go":              "how long a start takes",
	"server/venue.go":                 "how long a stop takes",
}

// TestWallClock checks that no other file of the venue reads the machine's clock
// (docs/rules/operation.md#venue-time).
func TestWallClock(t *testing.T) {
	unused := map[string]bool{}
	for file := range wallClock {
		unused[file] = true
	}
	for _, root := range []string{"arena", "cluster", "core", "lanes", "schemas", "server", "tools"} {
		err := filepath.WalkDir(filepath.Join("..", root), func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
			switch {
			case d.IsDir() && (d.Name() == "node_modules" || name == "core/sim" || name == "core/journal/logtest" || name == "lanes/lanetest" || name == "lanes/portal/web"):
				return filepath.SkipDir // simulations and helpers of tests, and files of the browser
			case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			line, err := lineThatReadsClock(path)
			if err == nil && line > 0 {
				if wallClock[name] == "" {
					t.Errorf("%s:%d reads the machine's clock: take venue time from tools.Config.Now, or a tools.WallTime", name, line)
				}
				delete(unused, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for file := range unused {
		t.Errorf("%s does not read the machine's clock; delete it from the list", file)
	}
}

// lineThatReadsClock returns the number of the first line that calls time.Now outside a comment; 0 if
// there is none.
func lineThatReadsClock(path string) (int, error) {
	b, err := os.ReadFile(path)
	for n, line := range strings.Split(string(b), "\n") {
		if code, _, _ := strings.Cut(line, "//"); strings.Contains(code, "time.Now") {
			return n + 1, nil
		}
	}
	return 0, err
}
