package marketsim

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
)

// Stream returns the random numbers of a name under a seed. Two names share no number.
func Stream(seed uint64, name string) *rand.Rand {
	return rand.New(rand.NewChaCha8(sha256.Sum256(binary.BigEndian.AppendUint64([]byte(name), seed))))
}

// uniform draws a number above 0 and below 1.
func uniform(r *rand.Rand) float64 { return (float64(r.Uint64()>>12) + 0.5) / (1 << 52) }

// exponential draws an exponential number of mean 1 from one number of the stream.
func exponential(r *rand.Rand) float64 { return -Ln(uniform(r)) }

// pick draws an index below n; n is at least 1.
func pick(u float64, n int) int { return min(int(mul(u, float64(n))), n-1) }
