"""The spaces of actions and observations: those of Gymnasium if it and NumPy are installed, else their like."""

import math
import random

from .sight import ACTIONS, OBSERVATIONS

try:
    import gymnasium
    import numpy
except ImportError:
    gymnasium = numpy = None


class Space:
    """A space with the methods of Gymnasium's."""

    def __init__(self):
        self.draw = random.Random()

    def seed(self, seed=None):
        self.draw.seed(seed)

    def __contains__(self, x):
        return self.contains(x)


class Discrete(Space):
    """The integers from 0 to n - 1."""

    shape, dtype, start = (), int, 0

    def __init__(self, n):
        super().__init__()
        self.n = n

    def contains(self, x):
        return isinstance(x, int) and 0 <= x < self.n

    def sample(self):
        return self.draw.randrange(self.n)


class Box(Space):
    """Lists of finite numbers."""

    low, high, dtype = -math.inf, math.inf, float

    def __init__(self, n):
        super().__init__()
        self.shape = (n,)

    def contains(self, x):
        return isinstance(x, list) and len(x) == self.shape[0] and all(isinstance(v, float) and math.isfinite(v) for v in x)

    def sample(self):
        return [self.draw.gauss(0, 1) for _ in range(self.shape[0])]


def action_space():
    return gymnasium.spaces.Discrete(ACTIONS) if gymnasium else Discrete(ACTIONS)


def observation_space():
    if gymnasium:
        return gymnasium.spaces.Box(-numpy.inf, numpy.inf, (OBSERVATIONS,), numpy.float64)
    return Box(OBSERVATIONS)


def observation(values):
    """Returns an observation in the form of the space."""
    return numpy.array(values, numpy.float64) if gymnasium else values
