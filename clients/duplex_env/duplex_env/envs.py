"""The environments."""

import operator
import random
from collections.abc import Mapping

from .server import Venues
from .sight import Sight, checked
from .spaces import action_space, gymnasium, observation, observation_space

try:
    import pettingzoo
except ImportError:
    pettingzoo = None


class Episode:
    """What is known of an environment since its reset."""

    def __init__(self, seed, seats, step_ms, answer):
        self.seed, self.sights, self.ended, self.hash = seed, [Sight(step_ms) for _ in range(seats)], "", None
        self.obs, self.rewards, self.errors, self.final = None, None, None, 0
        for _ in self.steps(answer):
            pass

    def steps(self, answer):
        """Takes the steps of an answer, one after the other."""
        for final, *rows in answer["steps"]:
            self.final, self.obs, self.rewards, self.errors = final, [], [], []
            for sight, row in zip(self.sights, rows):
                before = sight.equity
                self.obs.append(observation(sight.see(*row[:8])))
                self.rewards.append(sight.equity - before)
                self.errors.append(row[8] if len(row) > 8 else None)
            yield self
        self.ended, self.hash = answer.get("ended", ""), answer.get("commands_hash")

    def take(self, answer):
        """Takes an answer. After the end of an episode a step changes nothing and earns nothing."""
        if not answer["steps"]:
            self.rewards, self.errors = [0.0] * len(self.sights), [None] * len(self.sights)
        for _ in self.steps(answer):
            pass

    def info(self, seat=0):
        out = {"seed": self.seed, "equity": self.sights[seat].equity, "rounds_final": self.final}
        if self.errors[seat]:
            out["error"] = self.errors[seat]
        if self.ended:
            out["commands_hash"] = self.hash
        return out

    def ends(self):
        return self.ended == "terminated", self.ended == "truncated"


def whole(name, value):
    """Returns a setting as an int; a ValueError if it is none."""
    try:
        n = operator.index(value)
    except TypeError:  # 20.0 is none, as it is no action
        raise ValueError(f"{name} {value!r}: a whole number") from None
    if not -(1 << 63) <= n < 1 << 63:
        raise ValueError(f"{name} {value!r}: a whole number below 2^63")
    return n


def sequence(name, x):
    """Returns a list, an array or the like; a TypeError for a dict, a set and what has no length."""
    if isinstance(x, Mapping) or not (hasattr(x, "__getitem__") and hasattr(x, "__len__")):
        raise TypeError(f"{name} {x!r}: {type(x).__name__} is no sequence")
    return x


class Base:
    """What the environments share: their venues and episodes. At the end of a with statement they are closed."""

    def open(self, n, names, rounds, step_ms, qty, fund, max_steps, command, flags):
        rounds, step_ms, qty = whole("rounds", rounds), whole("step_ms", step_ms), whole("qty", qty)
        max_steps = None if max_steps is None else whole("max_steps", max_steps)
        if max_steps is not None and max_steps < 1:
            raise ValueError(f"max_steps {max_steps}: at least 1, or None for no limit")
        self.rounds, self.step_ms, self.qty, self.fund, self.max_steps = rounds, step_ms, qty, fund, max_steps
        self.venues = Venues(n, command, flags, seats=names, rounds=rounds, step_ms=step_ms, qty=qty, fund=fund, max_steps=max_steps or 0)
        self.seats, self.episodes, self.draw = len(names), None, random.Random()

    def begin(self, seed):
        """Opens a venue for each environment: environment k has the seed + k. Without a seed each has a random
        one, drawn from the seed of the last reset."""
        seed = None if seed is None else operator.index(seed)
        draw = self.draw if seed is None else random.Random(seed)
        seeds = [draw.randrange(1 << 31) if seed is None else seed + k for k in range(self.venues.n)]
        answers = self.venues.reset(seeds)
        self.draw, self.episodes = draw, [Episode(s, self.seats, self.step_ms, a) for s, a in zip(seeds, answers)]

    def opened(self):
        """Raises a RuntimeError before reset and after close."""
        if self.episodes is None or not self.venues.opened():
            raise RuntimeError("the environment has no venue: call reset before step, also after close")

    def close(self):
        self.venues.close()
        self.episodes = None

    def render(self):
        """Shows nothing: there are no render modes."""

    @property
    def unwrapped(self):
        """The environment itself, which wraps no other."""
        return self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


class DuplexEnv(Base, gymnasium.Env if gymnasium else object):
    """One agent on one venue. flags are those of dx arena serve for the market, such as ("--noise", "2")."""

    metadata = {"render_modes": []}
    render_mode = None

    def __init__(self, rounds=20, step_ms=1000, qty=5, fund=1000, max_steps=None, command=None, flags=()):
        self.open(1, ["agent"], rounds, step_ms, qty, fund, max_steps, command, flags)
        self.action_space, self.observation_space = action_space(), observation_space()

    def reset(self, *, seed=None, options=None):
        """Opens a new venue of a seed; without one, of a random seed."""
        if gymnasium:
            super().reset(seed=seed)
        self.begin(seed)
        e = self.episodes[0]
        return e.obs[0], e.info()

    def step(self, action):
        """Acts, lets time pass, and looks."""
        action = checked(action)
        self.opened()
        e = self.episodes[0]
        e.take(self.venues.step([str(action)])[0])
        return e.obs[0], e.rewards[0], *e.ends(), e.info()


class VectorEnv(Base):
    """Several environments that step together, each on a venue of its own. The methods return lists with an
    item for each environment. One that has ended is not reset by itself: it stays as it is."""

    def __init__(self, n, rounds=20, step_ms=1000, qty=5, fund=1000, max_steps=None, command=None, flags=()):
        if (n := whole("n", n)) < 1:
            raise ValueError(f"{n} environments: at least 1")
        self.open(n, ["agent"], rounds, step_ms, qty, fund, max_steps, command, flags)
        self.num_envs, self.single_action_space, self.single_observation_space = n, action_space(), observation_space()

    def reset(self, *, seed=None, options=None):
        self.begin(seed)
        return [e.obs[0] for e in self.episodes], [e.info() for e in self.episodes]

    def step(self, actions):
        """Plays one action for each environment, in one request."""
        for e, a in zip(self.episodes, self.ask([[a] for a in sequence("actions", actions)])):
            e.take(a)
        return [e.obs[0] for e in self.episodes], [e.rewards[0] for e in self.episodes], *self.ends()

    def run(self, actions):
        """Plays a list of actions for each environment, in one request. The observations and the rewards of an
        environment are lists with an item for each step, up to the end of its episode; the rest is that of its
        last step. An empty list plays nothing. A request has at most 100,000 actions."""
        obs, rewards = [], []
        lists = [sequence(f"actions of environment {k}:", each) for k, each in enumerate(sequence("actions", actions))]
        for e, a in zip(self.episodes, self.ask(lists)):
            if not a["steps"]:
                e.take(a)
            steps = [(e.obs[0], e.rewards[0]) for _ in e.steps(a)]
            obs.append([o for o, _ in steps])
            rewards.append([r for _, r in steps])
        return obs, rewards, *self.ends()

    def ask(self, actions):
        if len(actions) != self.venues.n:
            raise ValueError(f"{len(actions)} actions for {self.venues.n} environments")
        texts = ["".join([str(checked(a)) for a in each]) for each in actions]
        self.opened()
        return self.venues.step(texts)

    def ends(self):
        terminated, truncated = zip(*[e.ends() for e in self.episodes])
        return list(terminated), list(truncated), [e.info() for e in self.episodes]


class ParallelEnv(Base, pettingzoo.ParallelEnv if pettingzoo else object):
    """Several agents on one venue, in PettingZoo's parallel form. In a step they act in the order of
    possible_agents, on what they have seen before it. All of them end together."""

    metadata = {"name": "duplex_v0", "render_modes": [], "is_parallelizable": True}
    render_mode = None

    def __init__(self, seats=2, rounds=20, step_ms=1000, qty=5, fund=1000, max_steps=None, command=None, flags=()):
        if not 1 <= (seats := whole("seats", seats)) <= 64:
            raise ValueError(f"{seats} seats: from 1 to 64")
        self.possible_agents, self.agents = [f"agent-{i + 1}" for i in range(seats)], []
        self.open(1, self.possible_agents, rounds, step_ms, qty, fund, max_steps, command, flags)
        self.spaces = {a: (action_space(), observation_space()) for a in self.possible_agents}

    def action_space(self, agent):
        return self.spaces[agent][0]

    def observation_space(self, agent):
        return self.spaces[agent][1]

    def reset(self, seed=None, options=None):
        self.begin(seed)
        e, self.agents = self.episodes[0], list(self.possible_agents)
        return dict(zip(self.agents, e.obs)), self.infos()

    def step(self, actions):
        """Plays an action for each agent. At the end of the episode agents is empty."""
        self.opened()
        if set(actions) != set(self.agents):
            raise ValueError(f"actions for {', '.join(map(str, actions)) or 'nobody'}: one for each of {', '.join(self.agents) or 'no agents'}")
        text = "".join([str(checked(actions[a])) for a in self.agents])
        if not self.agents:
            return {}, {}, {}, {}, {}
        e, agents = self.episodes[0], self.agents
        e.take(self.venues.step([text])[0])
        terminated, truncated = e.ends()
        out = dict(zip(agents, e.obs)), dict(zip(agents, e.rewards)), dict.fromkeys(agents, terminated), dict.fromkeys(agents, truncated), self.infos()
        if e.ended:
            self.agents = []
        return out

    def infos(self):
        return {a: self.episodes[0].info(i) for i, a in enumerate(self.agents)}

    def close(self):
        super().close()
        self.agents = []

    @property
    def num_agents(self):
        """The agents of the episode: 0 before reset and at the end."""
        return len(self.agents)

    @property
    def max_num_agents(self):
        return len(self.possible_agents)


def parallel_env(seats=2, rounds=20, **settings):
    """Returns the environment of several agents on one venue."""
    return ParallelEnv(seats, rounds, **settings)


if gymnasium:
    gymnasium.register(id="Duplex-v0", entry_point=DuplexEnv)
