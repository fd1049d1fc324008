package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"duplex/cmd/dx/cli"
	"duplex/schemas"
)

// TestAgent runs the commands of dx agent as the owner trader, and trades as the agent.
func TestAgent(t *testing.T) {
	p := start(t, t.TempDir())
	p.devFile()
	t.Setenv("HOME", t.TempDir())
	series := "--series " + p.series(p.marketFor(2*time.Minute, func(m schemas.Market) bool { return m.YesAsk > 0 && m.YesAsk < 6000 }))
	for _, c := range []struct {
		args string
		code int
		want string // in the output, or in the errors when it fails
	}{
		{"agent create bot --fund 50", 0, "bot is an agent (account 7) with $50.00. It\n  - loses at most $10.00 a day\n  - pays at most $2.00 for an order\n"},
		{"agent create bot", 1, "agents/bot.json exists; move it away"},
		{"agent create agent", 1, "agents/agent.json exists; move it away"},
		{"agent create trader", 1, "agents/trader.json exists; move it away"},
		{"agent create Bot", 2, "--name: must be up to 32"},
		{"agent create b --fund 100000000", 1, "insufficient_balance (403): "},
		{"agent create b --collar 10000", 2, "--collar: price_collar of the mandate must be an integer from 0 to 9998"},
		{"agent create b --as reader --dev-file nowhere.json", 1, "no DX_PORTAL_URL and DX_ACCOUNT_TOKEN, and no venue started here"},
		{"agent create b --as nobody", 2, "--as"},
		{"agent create b --unbounded --preset loose", 2, "--unbounded: a preset has bounds"},
		{"agent create b --json --unbounded --max-open-orders 0", 0, `"name":"b","user_id":8,"api_key":"dxk`},
		{"agent list", 0, "AGENT  ACCOUNT  STATE   EQUITY   TODAY  OPEN COST  LEFT    ORDERS TODAY\nagent  6        active  $100.00  $0.00  $0.00      $50.00  0\nbot    7        active  $50.00   $0.00  $0.00      $10.00  0\nb      8        active  $0.00    $0.00  $0.00      -       0\n"},
		{"agent list --as maker", 0, "You have no agents."},
		{"agent list --json", 0, `{"agents":[{"user_id":6,"name":"agent","state":"active","rev":1,`},
		{"agent show nobody", 1, `you have no agent "nobody"`},
		{"agent show bot --as maker", 1, `you have no agent "bot"`},
		{"agent show 7", 0, "bot (account 7) is active.\n\nequity                     $50.00\n"},
		{"agent show bot", 0, "\nMandate of bot, revision 1: it\n  - loses at most $10.00 a day\n"},
		{"agent show bot --json", 0, `"mandate":{"expires_ts":"`},
		{"agent show bot --json", 0, `,"kind":"hmac"}]`},
		{"agent show bot", 0, "  hmac  dx     read,trade  -           -\n"},
		{"agent fund bot 25", 0, "Moved $25.00 to bot.\n"},
		{"agent fund bot 1 --id one --json", 0, `{"client_transfer_id":"one","from":1,"to":7,"amount":"10000",`},
		{"agent fund bot 1 --id one --json", 0, `{"client_transfer_id":"one","from":1,"to":7,"amount":"10000",`},
		{"agent fund bot 2 --id one", 1, "duplicate_client_transfer_id (409): "},
		{"agent fund bot 0", 1, "bad_amount (400): "},
		{"agent fund bot x", 2, "must be dollars"},
		{"agent return bot 26", 0, "Moved $26.00 from bot.\n"},
		{"agent return bot 51", 1, "insufficient_balance (403): "},
		{"call GET /v1/portfolio/balance --profile bot", 0, `{"cash":"500000",`},
		{"order buy yes 3 @1 --profile bot " + series, 0, `"status":"resting"`},
		{"order buy yes 300 @90 --profile bot " + series, 1, "mandate_violation (403): The price of 90¢ is outside the price collar"},
		{"order buy yes 1 @1 --profile b " + series, 1, "The order asks for 1, and max_open_orders of the agent's mandate leaves 0 of 0."},
		{"agent activity bot --limit 1", 0, "place_order  -      mandate_violation: price_collar\n"},
		{"agent activity bot", 0, "  owner"},
		{"agent activity bot --json", 0, `{"activity":[{"ts":"`},
		{"agent mandate bot", 0, "Mandate of bot, revision 1: it\n"},
		{"agent mandate bot --max-order-cost 3 --remove collar,expires", 0, "Mandate of bot, revision 2: it\n  - loses at most $10.00 a day\n  - pays at most $3.00 for an order\n  - has at most $10.00 in open orders and positions\n"},
		{"agent mandate bot --max-order-qty 0", 2, "--max-order-qty: max_order_qty of the mandate must be"},
		{"agent mandate bot --remove money", 2, "--remove: no bound has a flag --money"},
		{"agent mandate bot --preset normal --json", 0, `"price_collar":500,`},
		{"agent key bot", 1, "agents/bot.json exists; move it away"},
		{"agent halt", 2, "--all"},
		{"agent halt bot --all", 2, "--all"},
		{"agent halt bot", 0, "bot is halted.\n"},
		{"order buy yes 1 @1 --profile bot " + series, 1, "mandate_violation (403): The agent is halted."},
		{"call GET /v1/portfolio/orders?status=resting --profile bot", 0, `{"orders":[],`},
		{"agent resume bot", 0, "bot is active.\n"},
		{"agent halt --all", 0, "agent is halted.\nbot is halted.\nb is halted.\n"},
		{"agent resume bot --json", 0, `{"user_id":7,"state":"active","seq":"`},
		{"agent close b", 0, "b is closed.\n"},
		{"agent close b", 0, "b is closed.\n"},
		{"agent fund b 1", 1, "invalid_transition (409): "},
		{"agent list", 0, "\nbot    7        active"},
		{"agent list --all", 0, "\nb      8        closed"},
		{"agent create b", 1, "duplicate_agent_name (409): "},
	} {
		code, out, errs := runTrading(strings.Fields(c.args)...)
		if text := map[bool]string{true: out, false: errs}[c.code == 0]; code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, out, errs)
		}
		if strings.Contains(out+errs, p.account("trader").AccountToken) {
			t.Errorf("%s shows the token of the owner", c.args)
		}
	}
}

// TestAgentKeyIsPrivate tests that the key of an agent goes into a profile of mode 0600 and is
// not printed, that --install names the profile in the host's config, and that a profile whose
// key is revoked is replaced.
func TestAgentKeyIsPrivate(t *testing.T) {
	p := plainVenue.of(t)
	p.devFile()
	name := "private-" + strings.ToLower(rand.Text()[:8]) // the venue is shared, and a name is used once
	home := t.TempDir()
	t.Setenv("HOME", home)
	devFile := filepath.Join(t.TempDir(), "dev.json") // its folder gets the profiles
	b, err := os.ReadFile(p.file)
	if err == nil {
		err = os.WriteFile(devFile, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DX_DEV_FILE", devFile)
	profile := filepath.Join(filepath.Dir(devFile), "agents", name+".json")
	path := dxPath(t) // a host cannot start the test binary by its own name
	create := exec.Command(path, "agent", "create", name, "--fund", "1", "--json", "--install", "claude-code")
	var stdout, stderr strings.Builder
	create.Stdout, create.Stderr = &stdout, &stderr
	err = create.Run()
	out, errs := stdout.String(), stderr.String()
	var made struct {
		UserID  uint32 `json:"user_id"`
		APIKey  string `json:"api_key"`
		Profile string
	}
	if err != nil || json.Unmarshal([]byte(out), &made) != nil || made.Profile != profile {
		t.Fatalf("dx agent create: %v: %s%s, want the profile %s", err, out, errs, profile)
	}
	got, err := cli.ReadProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	want := schemas.Profile{API: p.dev.API, WS: p.dev.WS, MCP: p.dev.MCP, Name: name, UserID: made.UserID, APIKey: made.APIKey, Secret: got.Secret, Scopes: []string{"read", "trade"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the profile is %+v, want %+v", got, want)
	}
	config, err := os.ReadFile(filepath.Join(home, ".claude.json"))
	if err != nil || !strings.Contains(string(config), profile) {
		t.Errorf("the config of Claude Code: %v: %s, want it to name %s", err, config, profile)
	}
	if strings.Contains(out+errs+string(config), got.Secret) {
		t.Errorf("the secret is in\n%s%s%s", out, errs, config)
	}
	expectCommand(t, 1, profile+" exists", "agent", "key", name)
	with(t, p.account("trader").AccountToken, "DELETE", fmt.Sprintf("%s/agents/%d/keys/%s", p.dev.Portal, made.UserID, made.APIKey), "", nil)
	expectCommand(t, 0, "Its key is in "+profile, "agent", "key", name, "--scopes", "read")
	if again, err := cli.ReadProfile(profile); err != nil || again.APIKey == got.APIKey || fmt.Sprint(again.Scopes) != "[read]" {
		t.Errorf("the profile after its key was revoked: %+v, %v, want a new key with scope read", again, err)
	}
	// Token and portal from the environment, as for a venue elsewhere.
	t.Setenv("DX_DEV_FILE", filepath.Join(t.TempDir(), "dev.json"))
	t.Setenv("DX_PORTAL_URL", p.dev.Portal)
	t.Setenv("DX_ACCOUNT_TOKEN", p.account("trader").AccountToken)
	if code, out, errs := runCommand("agent", "close", name); code != 0 || out != name+" is closed.\n" {
		t.Errorf("dx agent close: exit %d %s%s, want 0 and %s is closed", code, out, errs, name)
	}
	t.Setenv("DX_ACCOUNT_TOKEN", "wrong")
	expectCommand(t, 1, "unauthorized (401)", "agent", "list")
	t.Setenv("DX_PORTAL_URL", ":8081")
	expectCommand(t, 1, "DX_PORTAL_URL must be an address", "agent", "list")
}

// TestAgentApprovals tests what an agent and its owner read about orders that wait, until the owner decides.
func TestAgentApprovals(t *testing.T) {
	p := start(t, t.TempDir())
	p.devFile()
	t.Setenv("HOME", t.TempDir())
	series := p.series(p.marketFor(2*time.Minute, func(m schemas.Market) bool { return m.YesAsk > 1000 }))
	expectCommand(t, 0, "  - asks you before it has more than $0.05 at stake in one round\n", "agent", "create", "bot", "--fund", "50", "--unbounded", "--ask-above", "0.05")
	expectCommand(t, 0, "asks you before it has more than $0.05 at stake", "agent", "show", "bot")
	expectCommand(t, 0, "Your agents have asked for nothing.", "agent", "approvals")
	// ask places an order above the bound and returns its approval_id.
	ask := func(id string) string {
		t.Helper()
		code, out, errs := runCommand("order", "buy", "yes", "10", "@2", "--series", series, "--profile", "bot", "--client-order-id", id)
		var w schemas.Waiting
		if err := json.Unmarshal([]byte(out), &w); code != 0 || err != nil || w.Status != "waiting" || w.ApproveURL != p.dev.Portal+"/#/approvals/"+w.ApprovalID.String() {
			t.Fatalf("an order above ask_above: exit %d, %v\n%s%s, want it to wait at the portal", code, err, out, errs)
		}
		return w.ApprovalID.String()
	}
	small := []string{"order", "buy", "yes", "1", "@2", "--series", series, "--profile", "bot"}
	expectCommand(t, 0, `"status":"resting"`, small...)
	code, out, _ := runCommand(small...)
	var rests schemas.Outcome
	if err := json.Unmarshal([]byte(out), &rests); code != 0 || err != nil || rests.Status != "resting" {
		t.Fatalf("an order below ask_above: exit %d, %v\n%s", code, err, out)
	}
	expectCommand(t, 1, "a replace and a quote cannot wait", "replace", rests.OrderID.String(), "100", "@2", "--profile", "bot")
	expectCommand(t, 0, `"needs_approval":true`, "order", "buy", "yes", "10", "@2", "--series", series, "--profile", "bot", "--preview")

	first, second, third := ask("901"), ask("902"), ask("903")
	expectCommand(t, 0, " agent approve "+first+" --dev-file ", "agent", "approvals")
	expectCommand(t, 0, "  buy 10 YES @ 2¢  $0.20", "agent", "approvals", "--status", "waiting", "--limit", "1")
	expectCommand(t, 0, "Older: ", "agent", "approvals", "--limit", "1")
	expectCommand(t, 0, `{"approvals":[{"approval_id":"`+third+`",`, "agent", "approvals", "--json")
	expectCommand(t, 0, "Your agents have asked for nothing.", "agent", "approvals", "--as", "maker")
	expectCommand(t, 1, "schema_violation", "agent", "approvals", "--status", "open")
	expectCommand(t, 0, ": approved. Your order waits to buy 10 YES at 2¢. Order ", "agent", "approve", first)
	expectCommand(t, 0, ": approved and placed before, as order ", "agent", "approve", first)
	expectCommand(t, 1, "invalid_transition (409)", "agent", "reject", first)
	expectCommand(t, 1, "and it was approved and placed. If it still wants that, it must ask again", "agent", "reject", first)
	expectCommand(t, 0, ": rejected. Nothing was placed.", "agent", "reject", second)
	expectCommand(t, 0, `{"approval":{"approval_id":"`+second+`",`, "agent", "reject", second, "--json")
	expectCommand(t, 1, "its owner rejected it", "agent", "approve", second)
	expectCommand(t, 1, "None of your agents asked this. What they ask: ", "agent", "approve", third, "--as", "maker")
	expectCommand(t, 1, "unknown_approval (404)", "agent", "approve", "7")
	expectCommand(t, 2, "must be a whole number", "agent", "approve", "x")
	expectCommand(t, 0, `"status":"waiting"`, "call", "POST", "/v1/portfolio/orders", `{"client_order_id":"904","market_id":1,"side":"buy","outcome":"yes","tick":200,"qty":10}`, "--profile", "bot")
	expectCommand(t, 0, "it was approved and placed, order ", "agent", "approvals", "--status", "placed")

	expectCommand(t, 0, "place_order    -      waits: approval "+third+"\n", "agent", "activity", "bot")
	expectCommand(t, 0, "reject_order   -      ok: approval "+second+"\n", "agent", "activity", "bot")

	expectCommand(t, 0, "bot is halted.", "agent", "halt", "bot")
	expectCommand(t, 1, "it was canceled: the agent was stopped", "agent", "approve", third)
	expectCommand(t, 0, "it was canceled: the agent was stopped\n", "agent", "approvals", "--status", "canceled,expired")
}
