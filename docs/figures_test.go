package docs_test

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"duplex/core"
	"duplex/core/feed"
	"duplex/core/view"
	"duplex/tools"
)

// figured lists the packages whose integer constants must be in the rulebook, each with the
// constants that are exempt. These are part of an algorithm or a format; users do not notice
// them.
var figured = map[string][]string{
	"core":          {"GrantMaxNs", "NsPerDay", "NsPerSec", "NsPerMs", "OK", "QuoteFlags"},
	"core/ledger":   nil,
	"core/round":    {"minute", "never"},
	"core/feed":     {"RingTicks", "lastSecond"},
	"core/view":     {"chunkLen", "dayNs", "eventAccount", "eventAsk", "eventBalance", "eventDeadman", "eventDeposit", "eventFill", "eventGroup", "eventKeyRevoked", "eventOrder", "eventPosition", "eventSettlement", "eventTransfer", "eventWithdrawal", "keyIDsMax", "maxExponent", "roundRowCap", "stateFormat", "withReference"},
	"core/engine":   {"checkpointsKept", "closeMargin", "commitDelayMinCallers", "commitDelayMax", "foreignFor", "histogramBuckets", "memberTick", "proposePauseMax", "proposePauseMin", "slewRate", "wireBufSize"},
	"schemas":       {"signatureLen", "cursorDigestLen", "decimalPlaces", "maxFastDigits", "minFixedPlaces", "typicalOrderBytes", "usdPlaces"},
	"tools":         {"fitExpiry", "maxCachedResponses", "maxCachedRows", "maxFits", "maxToolName"},
	"lanes/gate":    {"UserScopes", "answerTime", "keyIDBytes", "memberLag", "maxDisorder", "maxPooledResponse", "tokenHeadBytes", "unwantedBody"},
	"lanes/ws":      {"endRetry", "endTries", "writeChunk", "slowWriteChunk", "maxWindow", "firstWait", "closeReasonStart", "controlLen", "maxControlFrame", "defaultLimits.socketBufferBytes", "operation.Scope", "closeTimeout", "maskLen", "snapshotSlices", "sweepEvery", "yieldEvery"},
	"lanes/mcp":     {"addedRoom", "cursorRoom", "dollar", "maxAdded", "maxUnitNames", "maxRequired", "maxVirtualWait"},
	"lanes/funding": {"maxAnswerBytes", "maxQueued"},
	"lanes/portal":  nil,

	"lanes/portal/oauth": {"brailleBlank", "grantable"},
	"feeds":              nil,
	"feeds/adapter":      {"heartbeatInterval", "defaultMaxMessageBytes"},
}

// figures returns all figures of the program, by package and name. Times are in ns unless the
// name has another unit.
func figures(t *testing.T) map[string]int64 {
	p, out := newProgram(t), map[string]int64{}
	put := func(of, name string, n int64) { out[of+"."+name] = n }
	for dir, inner := range figured {
		found := p.numbers(dir)
		for _, name := range inner {
			if _, there := found[name]; !there {
				t.Errorf("%s has no constant %s: remove it from figured", dir, name)
			}
			delete(found, name)
		}
		maps.DeleteFunc(found, func(name string, _ int64) bool { return strings.HasPrefix(name, "Revision") }) // of the rules; no limits
		for name, n := range found {
			put(dir, name, n)
		}
	}
	of := func(prefix string, s any) {
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			switch f := v.Field(i); {
			case f.CanInt():
				put(prefix, v.Type().Field(i).Name, f.Int())
			case f.CanUint():
				put(prefix, v.Type().Field(i).Name, int64(f.Uint()))
			}
		}
	}
	of("core.Rules", core.DefaultRules())
	delete(out, "core.Rules.Revision") // the revision of the rulebook is not a limit
	delete(out, "core.Rules.Environment")
	of("core.Fees", core.DefaultFees())
	of("core/view.Caps", view.DefaultRetentionCaps())
	of("tools.Terms", tools.DefaultConfig(nil))
	for f := range core.Feed(core.Feeds) {
		put("core/feed.FreshFor", f.String(), feed.FreshFor(f))
	}
	engine := p.assigned("core/engine", "withDefaults")
	put("core/engine.Options", "Queue", engine["Queue"])
	put("core/engine.Options", "CheckpointEvery", engine["CheckpointEvery"])
	put("core/engine.Options", "MaxClockOffset", engine["MaxClockOffset"])
	put("core/engine.Options", "StaleAfter", engine["StaleAfter"])
	for dir, names := range map[string][]string{
		"cmd/dx": {"devDispute", "devFunds", "makerFunds", "noiseTraders", "noiseFunds", "jumpDefault"}, "cmd/dx/bridge": {"responseHeaderTimeout", "writeTimeout"}, "server": {"StopTimeout", "MinAccountRate", "DefaultAccountKeys"}, "core/mirror": {"DefaultBackfillRate"}, "feeds/session": {"warnBefore"},
	} {
		numbers := p.numbers(dir)
		for _, name := range names {
			put(dir, name, numbers[name])
		}
	}
	return out
}

var figureRow = regexp.MustCompile(`(?m)^\| <a id="(figure-[a-z0-9-]+)"></a>[^|]+ \| ([0-9,]+)(?: ([^|]+))? \| ([^|]+) \|$`)

// TestFigures checks that limits.md lists every default figure of the program with its value,
// and no figure that the program does not have.
func TestFigures(t *testing.T) {
	text := read(t, "rules/limits.md")
	_, text, _ = strings.Cut(text, "\n## Figures\n")
	program := figures(t)
	missing := maps.Clone(program)
	rows := figureRow.FindAllStringSubmatch(text, -1)
	if want := strings.Count(text, "\n| <a"); len(rows) != want {
		t.Errorf("%d of %d rows match the pattern", len(rows), want)
	}
	for _, row := range rows {
		for _, name := range strings.Split(row[4], ", ") {
			name = strings.Trim(name, "`")
			is, there := program[name]
			if !there {
				t.Errorf("%s: the program has no %s", row[1], name)
				continue
			}
			delete(missing, name)
			if says := figure(t, row[2], row[3]); !slices.Contains(says, is) {
				t.Errorf("%s: the page says %s %s, %s is %d", row[1], row[2], row[3], name, is)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("%s = %d is not in limits.md: add a row, or exempt it in figured if users do not notice it", name, missing[name])
	}
}

// figure returns the numbers that may represent a value of the page in the program, which
// stores a time in ns, ms or s.
func figure(t *testing.T, number, unit string) []int64 {
	n, err := strconv.ParseInt(strings.ReplaceAll(number, ",", ""), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	times := map[string]time.Duration{"ms": time.Millisecond, "s": time.Second, "min": time.Minute, "h": time.Hour, "days": 24 * time.Hour}
	if d := times[unit]; d != 0 {
		ns := n * int64(d)
		return []int64{ns, ns / int64(time.Millisecond), ns / int64(time.Second), ns / int64(24*time.Hour)}
	}
	sizes := map[string]int64{"KiB": 1 << 10, "MiB": 1 << 20}
	if s := sizes[unit]; s != 0 {
		return []int64{n * s}
	}
	return []int64{n}
}

// TestSeriesTable checks that the table of series in rounds.md has the program's series.
func TestSeriesTable(t *testing.T) {
	text := read(t, "rules/rounds.md")
	assets := map[core.Feed]string{core.BTC: "BTC", core.Gold: "gold", core.WTI: "WTI crude"}
	for _, s := range core.AllSeries() {
		cadence := fmt.Sprintf("%d min", s.Cadence)
		if s.Cadence == 1 {
			cadence = "60 s"
		}
		if row := fmt.Sprintf("| %d | %s | %d | %s | %d s |\n", s.Category, assets[s.Feed], s.Feed, cadence, s.Window); !strings.Contains(text, row) {
			t.Errorf("rounds.md has no row %q", row)
		}
	}
}
