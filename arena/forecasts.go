package arena

import (
	"duplex/core"
	"duplex/core/replica"
)

// forecastIn returns the forecast of a command that was accepted, and false if it is none.
func forecastIn(a *replica.Applied) (*core.ForecastSubmitted, bool) {
	for _, e := range a.Events {
		if e, ok := e.(*core.ForecastSubmitted); ok {
			return e, true
		}
	}
	return nil, false
}
