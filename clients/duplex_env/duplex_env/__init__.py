"""Training environments on venues in virtual time, with the standard library alone.

DuplexEnv is one agent on one venue, with the signature of Gymnasium, where it is registered as Duplex-v0 if it
is installed. VectorEnv steps many venues in one request, and parallel_env has several agents on one venue, in
PettingZoo's parallel form. All environments of a program are in one process, dx arena serve --train.

    env = DuplexEnv(rounds=20)
    obs, info = env.reset(seed=7)
    obs, reward, terminated, truncated, info = env.step(BUY_YES)

Actions: HOLD, BUY_YES, BUY_NO (at the best price), SELL_YES, SELL_NO (what is held, at the best price).
After an action, venue time passes by step_ms.

Observation, a list of numbers, with NumPy and Gymnasium an array of float64:

    0  index divided by the strike, minus 1, times 1000
    1  seconds to the close, divided by 60; 0 without a live round
    2  best bid for YES in dollars, 0 without one
    3  best ask for YES in dollars, 0 without one
    4  contracts of YES held, divided by 100
    5  contracts of NO held, divided by 100
    6  equity divided by the fund, minus 1
    7  estimated standard deviation of the index in a second, times 10,000

Reward: the change of equity in dollars. terminated: the last round is final. truncated: the limit of steps is
reached. info has seed, equity, rounds_final; error, the code of an order that was rejected; and at the end
commands_hash, which a run of the seed has in which a seat acts in the same way.
"""

from .envs import DuplexEnv, ParallelEnv, VectorEnv, parallel_env
from .policies import fair_policy, fair_value, random_policy
from .seat import Connection, Seat, VenueError
from .server import dx_command
from .sight import ACTIONS, BUY_NO, BUY_YES, HOLD, OBSERVATIONS, SELL_NO, SELL_YES, checked

__all__ = [
    "ACTIONS", "BUY_NO", "BUY_YES", "HOLD", "OBSERVATIONS", "SELL_NO", "SELL_YES", "Connection", "DuplexEnv", "ParallelEnv", "Seat", "VectorEnv", "VenueError",
    "checked", "dx_command", "fair_policy", "fair_value", "parallel_env", "random_policy",
]
