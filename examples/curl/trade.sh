#!/usr/bin/env bash
# Reads, places an order and cancels it with curl and openssl, signing each request. Venue
# and key come from DX_URL, DX_KEY and DX_SECRET, or from the file that `dx dev` writes.
set -euo pipefail

file=${DX_DEV_FILE:-.dx/dev.json}
# first NAME prints the first string member of that name in the file.
first() { grep -m1 "\"$1\":" "$file" | cut -d'"' -f4; }
url=${DX_URL:-$(first api)}
key=${DX_KEY:-$(first api_key)}
secret=${DX_SECRET:-$(first secret)}

# millis prints the time in ms, in whole seconds if bash is too old for EPOCHREALTIME.
millis() {
	local t=${EPOCHREALTIME:-$(date +%s).000}
	t=${t/[.,]/}
	printf '%s' "${t:0:13}"
}

# padded BYTE prints the secret, filled up to 64 bytes, each xor BYTE. printf is a part of the shell, so that the
# secret is on no command line, which other users of the machine can read.
padded() {
	local i byte
	for ((i = 0; i < 128; i += 2)); do
		printf -v byte '\\x%02x' $((0x0${secret:i:2} ^ $1))
		printf "$byte"
	done
}

# sign TIMESTAMP METHOD TARGET BODY prints their signature, an HMAC (RFC 2104).
sign() {
	{ padded 0x36 && printf '%s\n%s\n%s\n%s' "$@"; } | openssl dgst -sha256 -binary | { padded 0x5c && cat; } | openssl dgst -sha256 -binary | base64
}

# call METHOD TARGET [BODY] sends one request, prints the response, and fails unless its
# status is 2xx. The body is sent exactly as signed.
call() {
	local method=$1 target=$2 body=${3:-} time
	time=$(millis)
	set -- -sS --fail-with-body --max-time 15 --path-as-is -X "$method" -H "DX-ACCESS-KEY: $key" -H "DX-ACCESS-TIMESTAMP: $time" \
		-H "DX-ACCESS-SIGNATURE: $(sign "$time" "$method" "$target" "$body")" "$url$target"
	[ -z "$body" ] || set -- --data-binary "$body" -H 'Content-Type: application/json' "$@"
	curl "$@"
	echo
}

# latest reads a list of markets and prints the id of the one that closes last.
latest() {
	grep -oE '"(market_id|close_ts)":"?[0-9]+' | grep -oE '[0-9]+$' | paste - - | sort -k2 -n | tail -1 | cut -f1
}

# field NAME reads a response and prints a string member.
field() { grep -oE "\"$1\":\"[^\"]*\"" | head -1 | cut -d'"' -f4; }

printf 'time      '
call GET /v1/time
printf 'balance   '
call GET /v1/portfolio/balance
markets=$(call GET '/v1/markets?status=trading')
market=$(latest <<<"$markets" || true) # grep fails if it finds nothing
[ -n "$market" ] || { echo 'no market trades now; try again in a minute' >&2; exit 1; }
printf 'book      '
call GET "/v1/markets/$market/orderbook?depth=1"

# A bid of one cent for YES rests behind all others. The id makes a repeat harmless.
placed=$(call POST /v1/portfolio/orders "{\"client_order_id\":\"$(millis)\",\"market_id\":$market,\"side\":\"buy\",\"outcome\":\"yes\",\"tick\":100,\"qty\":10,\"post_only\":true}")
printf 'placed    %s\n' "$placed"
order=$(field order_id <<<"$placed")
printf 'order     '
call GET "/v1/portfolio/orders/$order"
printf 'canceled  '
call DELETE "/v1/portfolio/orders/$order"
