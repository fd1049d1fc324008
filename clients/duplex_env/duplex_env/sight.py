"""Actions, and what a seat observes: the same on a training environment and as a seat of an arena."""

import math
import operator

HOLD, BUY_YES, BUY_NO, SELL_YES, SELL_NO = range(5)
ACTIONS = 5
OBSERVATIONS = 8


def checked(action):
    """Returns an action as an int; a ValueError if it is none."""
    try:
        n = operator.index(action)
    except TypeError:  # 1.5 is no action, and neither is 1.0
        n = -1
    if not HOLD <= n <= SELL_NO:
        raise ValueError(f"action {action!r}: an integer from 0 (HOLD) to 4 (SELL_NO)")
    return n


class Sight:
    """What a seat has seen. index and strike are at 1e8 scale, prices and equity in pips; a value
    that is missing is 0. step_ms is the time between two observations."""

    def __init__(self, step_ms):
        self.secs = max(step_ms / 1000, 1)
        self.index, self.variance, self.fund, self.equity = 0, 1e-8, None, 0.0

    def see(self, index, strike, secs_to_close, bid, ask, yes, no, equity):
        """Returns the observation."""
        if self.index and index and index != self.index:
            change = math.log(index / self.index)
            self.variance += (change * change / self.secs - self.variance) / 32
        self.index = index or self.index
        self.equity = equity / 10_000
        self.fund = self.fund or self.equity or 1
        return [
            (index / strike - 1) * 1000 if strike else 0.0, secs_to_close / 60, bid / 10_000, ask / 10_000,
            yes / 100, no / 100, self.equity / self.fund - 1, math.sqrt(self.variance) * 10_000,
        ]
