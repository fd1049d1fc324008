"""Two policies: functions of the observation that return an action."""

import math

from .sight import BUY_NO, BUY_YES, HOLD


def random_policy(obs, draw):
    return draw.randrange(5) if draw.random() < 0.2 else HOLD


def fair_value(obs):
    """The value of YES: P(index above the strike at the close); None if there is none to tell."""
    distance, minutes, volatility = obs[0], obs[1], obs[7]
    if minutes <= 0.08 or volatility <= 0:
        return None
    # The settle price is a mean over the last 10 s, which varies less than the index at the close.
    deviation = volatility / 10 * math.sqrt(max(minutes * 60 - 20 / 3, 1))
    return 0.5 * math.erfc(-distance / deviation / math.sqrt(2))


def fair_policy(obs, draw=None, edge=0.05):
    """Buys what is cheaper than its value by an edge, in dollars."""
    value = fair_value(obs)
    if value is None:
        return HOLD
    _, _, bid, ask, yes, no, _, _ = obs
    if ask and value > ask + edge and yes < 0.5:
        return BUY_YES
    if bid and value < bid - edge and no < 0.5:
        return BUY_NO
    return HOLD
