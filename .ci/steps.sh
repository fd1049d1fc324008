# Sourced by .ci/run and .ci/full from the root of the project: runs named steps, each to its end whatever
# the others did, and reports all of them.

# Paths are no part of a build, so that every clone shares the build cache.
export GOFLAGS="${GOFLAGS:+$GOFLAGS }-trimpath"

IMPOSSIBLE=77 # exit code of a step that this machine cannot run; its last line says why

results=() # name, verdict and seconds of each step, separated by tabs
failures=0

# step NAME COMMAND... runs a command as a step. A function of several commands ends at its first failure.
step() {
	local name=$1 began=$SECONDS status=0 verdict last
	shift
	printf '\n== %s\n' "$name"
	last=$(mktemp)
	# Not in a condition, where bash would ignore -e.
	(
		set -e
		"$@"
	) </dev/null 2>&1 | tee "$last"
	status=${PIPESTATUS[0]}
	case $status in
	0) verdict=passed ;;
	"$IMPOSSIBLE") verdict="not possible here: $(tail -n 1 "$last")" ;;
	*) verdict=failed failures=$((failures + 1)) ;;
	esac
	rm -f "$last"
	results+=("$name"$'\t'"$verdict"$'\t'"$((SECONDS - began))")
	printf '== %s: %s, %d s\n' "$name" "$verdict" "$((SECONDS - began))"
}

# report prints a line for each step, and fails if any step failed.
report() {
	local line name verdict seconds
	printf '\n== %d steps, %d failed, %d s\n' "${#results[@]}" "$failures" "$SECONDS"
	for line in "${results[@]}"; do
		IFS=$'\t' read -r name verdict seconds <<<"$line"
		printf '== %-14s %5d s  %s\n' "$name" "$seconds" "$verdict"
	done
	[ "$failures" = 0 ]
}

# impossible REASON ends a step that this machine cannot run.
impossible() {
	printf '%s\n' "$*"
	exit "$IMPOSSIBLE"
}
