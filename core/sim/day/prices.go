package day

import (
	"duplex/core"
	"duplex/internal/marketsim"
)

// volatility is the standard deviation of the index in a second, at 1e7 scale. That of the
// simulated BTC is about the same, and varies by a factor of three.
const volatility = 1000

// history is the number of seconds whose prices are kept: the longest settle window, and more.
const history = 64

// prices are the newest index prices, one a second.
type prices struct {
	at     int64 // the last second
	second [history]core.Price
}

func (p *prices) add(second int64, price core.Price) {
	p.at, p.second[second%history] = second, price
}

// value returns the value of YES in a round that closes in left seconds, and a third of the
// standard deviation of its change within a second, in bounds. It is the model of the house maker
// (cmd/dx/maker) in integers: the chance that the mean index of the settle window is above the
// strike.
func (p *prices) value(r *core.Round, left int64) (fair, third core.Tick) {
	left = max(left, 1)
	mean, open, hundredths := int64(p.second[p.at%history]), int64(100), left*100-r.Window*200/3
	if left < r.Window { // a part of the mean is known
		open = 100 * left / r.Window
		known, n := int64(0), int64(0)
		for s := r.CloseTs/core.NsPerSec - r.Window; s <= p.at; s++ {
			known, n = known+int64(p.second[s%history]), n+1
		}
		if n > 0 {
			mean = (known/n*(100-open) + mean*open) / 100
		}
		hundredths = 100 * left * left * left / (3 * r.Window * r.Window)
	}
	deviation := marketsim.Sqrt(volatility * volatility * max(hundredths, 5) / 100)
	far := (mean - int64(r.Strike)) * 10_000_000 / int64(r.Strike) * 1000 / deviation // in thousandths of the deviation
	chance, slope := marketsim.NormalPips(far)
	move := slope * 10 * open * volatility / (100 * deviation)
	return core.Tick(min(max(chance, 50), 9_950)), core.Tick(min(max(move/3, 100), 500))
}
