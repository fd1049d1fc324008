"""Tests the environments on venues in virtual time. DX_BIN is the command of dx."""

import importlib
import json
import math
import os
import pathlib
import random
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import duplex_env
from duplex_env import ACTIONS, BUY_NO, BUY_YES, HOLD, DuplexEnv, VectorEnv, dx_command, fair_policy, parallel_env, random_policy
from duplex_env import server, spaces

STEPS = 2 * 60 - 1  # of an episode of two rounds: they last a second longer, and the first step begins after two


def actions(n=STEPS, seed=1):
    draw = random.Random(seed)
    return [draw.randrange(ACTIONS) for _ in range(n)]


class Case(unittest.TestCase):
    def opened(self, env):
        self.addCleanup(env.close)
        return env

    def in_space(self, obs, space=None):
        """Checks what Gymnasium checks of an observation: type, shape, and that the space has it."""
        space = space or spaces.observation_space()
        self.assertIn(obs, space)
        self.assertEqual(len(obs), duplex_env.OBSERVATIONS)
        self.assertTrue(all(math.isfinite(x) for x in obs))


class Single(Case):
    """Among others the rules of gymnasium.utils.env_checker.check_env."""

    def test_spaces(self):
        env = self.opened(DuplexEnv())
        self.assertEqual(env.metadata["render_modes"], [])
        self.assertIsNone(env.render_mode)
        self.assertEqual((env.action_space.n, env.observation_space.shape), (5, (8,)))
        env.action_space.seed(3)
        first = [env.action_space.sample() for _ in range(20)]
        env.action_space.seed(3)
        self.assertEqual([env.action_space.sample() for _ in range(20)], first)
        for a in first:
            self.assertIn(a, env.action_space)
        self.assertIn(env.observation_space.sample(), env.observation_space)
        for x in (5, -1, 1.0, "1"):
            self.assertNotIn(x, env.action_space)
        for x in ([0.0] * 7, [0] * 8, [math.nan] * 8, (0.0,) * 8, 1):
            self.assertNotIn(x, env.observation_space)

    def test_reset_is_deterministic(self):
        env = self.opened(DuplexEnv(rounds=2))
        first = env.reset(seed=123, options={})
        self.in_space(first[0], env.observation_space)
        self.assertIsInstance(first[1], dict)
        step = env.step(BUY_YES)
        self.assertEqual(env.reset(seed=123), first)
        self.assertEqual(env.step(BUY_YES), step)
        other = env.reset(seed=456)
        self.assertNotEqual(other[0], first[0])
        drawn = [env.reset()[1]["seed"] for _ in range(2)]
        self.assertNotEqual(drawn[0], drawn[1])
        env.reset(seed=456)
        self.assertEqual([env.reset()[1]["seed"] for _ in range(2)], drawn, "a reset without a seed depends on the last seed")

    def test_an_episode(self):
        env = self.opened(DuplexEnv(rounds=2))
        _, info = env.reset(seed=4)
        first, total, steps, terminated = info["equity"], 0.0, 0, False
        self.assertNotIn("commands_hash", info)
        for a in actions():
            self.assertFalse(terminated)
            obs, reward, terminated, truncated, info = env.step(a)
            self.in_space(obs)
            self.assertIs(type(reward), float)
            self.assertIs(type(terminated), bool)
            self.assertIs(truncated, False)
            self.assertEqual("commands_hash" in info, terminated)
            total += reward
        self.assertTrue(terminated)
        self.assertEqual(info["rounds_final"], 2)
        self.assertNotEqual(total, 0)
        self.assertAlmostEqual(total, info["equity"] - first)
        self.assertEqual(env.step(BUY_YES), (obs, 0.0, True, False, info), "an episode goes on after its end")

    def test_truncated_at_the_limit_of_steps(self):
        env = self.opened(DuplexEnv(rounds=20, max_steps=3))
        env.reset(seed=1)
        ends = [env.step(HOLD) for _ in range(3)]
        self.assertEqual([e[2:4] for e in ends], [(False, False), (False, False), (False, True)])
        self.assertEqual(len(ends[2][4]["commands_hash"]), 64)
        env.reset(seed=1)
        self.assertEqual(env.step(HOLD)[2:4], (False, False))

    def test_a_rejected_order(self):
        env = self.opened(DuplexEnv(rounds=1, fund=1, qty=1000))
        env.reset(seed=1)
        for _ in range(6):
            info = env.step(HOLD)[4]
        self.assertNotIn("error", info)
        self.assertEqual(env.step(BUY_YES)[4]["error"], "insufficient_balance")
        self.assertNotIn("error", env.step(HOLD)[4])

    def test_an_action_that_is_none(self):
        env = self.opened(DuplexEnv(rounds=1))
        before = env.reset(seed=1)
        for action in (5, 9, -1, 1.5, 1.0, "1", None):
            with self.assertRaisesRegex(ValueError, "action"):
                env.step(action)
        self.assertEqual(env.step(HOLD), self.fresh_step(before))

    def fresh_step(self, before):
        env = self.opened(DuplexEnv(rounds=1))
        self.assertEqual(env.reset(seed=1), before)
        return env.step(HOLD)

    def test_step_without_a_venue(self):
        env = self.opened(DuplexEnv(rounds=1))
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step(HOLD)
        env.reset(seed=1)
        env.close()
        env.close()
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step(HOLD)
        env.reset(seed=1)
        env.step(HOLD)

    def test_settings_that_are_wrong(self):
        for settings, text in (({"rounds": 0}, "rounds 0"), ({"step_ms": 0}, "step_ms 0"), ({"qty": 0}, "qty 0"), ({"fund": 0}, "fund 0"), ({"fund": -1}, "fund -1")):
            with self.assertRaisesRegex(ValueError, text):
                self.opened(DuplexEnv(**settings)).reset(seed=1)
        for name in ("rounds", "step_ms", "qty", "max_steps"):
            for value in (1.5, 20.0, "20"):
                with self.assertRaisesRegex(ValueError, f"^{name} {value!r}: a whole number$"):
                    DuplexEnv(**{name: value})
            with self.assertRaisesRegex(ValueError, f"^{name} {1 << 63}: a whole number below 2\\^63$"):
                DuplexEnv(**{name: 1 << 63})
        with self.assertRaisesRegex(ValueError, "max_steps 0"):
            DuplexEnv(max_steps=0)
        env = self.opened(DuplexEnv(rounds=1))
        env.reset(seed=1)
        for seed in (-1, 1 << 63):
            with self.assertRaisesRegex(ValueError, f"seed {seed}: a whole number"):
                env.reset(seed=seed)
        with self.assertRaises(TypeError):
            env.reset(seed=1.5)
        env.step(HOLD)  # the venue is as it was

    def test_members_of_gymnasium(self):
        with DuplexEnv(rounds=1) as env:
            self.assertIs(env.unwrapped, env)
            self.assertIsNone(env.render())
            env.reset(seed=1)
            env.step(HOLD)
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step(HOLD)
        with self.assertRaisesRegex(KeyError, "mine"), VectorEnv(2, rounds=1) as many:
            many.reset(seed=1)
            raise KeyError("mine")
        self.assertFalse(many.venues.opened())

    def test_flags(self):
        quiet, loud = (self.opened(VectorEnv(1, rounds=1, flags=("--noise", x))) for x in ("0", "5"))
        for env in (quiet, loud):
            env.reset(seed=1)
        self.assertNotEqual(quiet.run([[HOLD] * 59])[4][0]["commands_hash"], loud.run([[HOLD] * 59])[4][0]["commands_hash"])


class Vector(Case):
    def test_three_ways_to_step_are_one(self):
        n, script = 3, [actions(seed=k) for k in range(3)]
        vector, whole = self.opened(VectorEnv(n, rounds=2)), self.opened(VectorEnv(n, rounds=2))
        vector.reset(seed=7)
        rows = [vector.step([x[i] for x in script]) for i in range(STEPS)]
        obs, infos = whole.reset(seed=7)
        self.assertEqual([i["seed"] for i in infos], [7, 8, 9])
        self.assertNotEqual(obs[0][0], obs[1][0])
        obs, rewards, terminated, truncated, infos = whole.run(script)
        self.assertEqual((terminated, truncated), ([True] * n, [False] * n))
        self.assertEqual(rows[-1][2:], (terminated, truncated, infos))
        for k in range(n):
            single = self.opened(DuplexEnv(rounds=2))
            single.reset(seed=7 + k)
            alone = [single.step(a) for a in script[k]]
            self.assertEqual([list(x) for x in (obs[k], rewards[k])], [[a[i] for a in alone] for i in (0, 1)])
            self.assertEqual([r[0][k] for r in rows], obs[k])
            self.assertEqual([r[1][k] for r in rows], rewards[k])
            self.assertEqual(alone[-1][4], infos[k])
        self.assertEqual(len({i["commands_hash"] for i in infos}), n)

    def test_in_parts_and_after_the_end(self):
        env, script = self.opened(VectorEnv(2, rounds=2)), actions()
        env.reset(seed=7)
        want = env.run([script, script])
        env.reset(seed=7)
        env.run([script[:50], script[:1]])
        rest = env.run([script[50:] + [BUY_YES] * 9, script[1:]])
        self.assertEqual([len(x) for x in rest[0]], [STEPS - 50, STEPS - 1])
        self.assertEqual(rest[4], want[4])
        self.assertEqual(env.run([[HOLD], [HOLD]])[:2], ([[], []], [[], []]))
        self.assertEqual(env.step([BUY_YES, BUY_NO])[1], [0.0, 0.0])

    def test_an_empty_list_plays_nothing(self):
        env, script = self.opened(VectorEnv(2, rounds=1)), actions(59)
        env.reset(seed=7)
        env.run([script[:9], script])
        for _ in range(2):
            obs, rewards, terminated, truncated, infos = env.run([[], []])
            self.assertEqual((obs, rewards, terminated, truncated), ([[], []], [[], []], [False, True], [False, False]))
            self.assertEqual(["commands_hash" in i for i in infos], [False, True])
        last = env.run([script[9:], []])
        self.assertEqual([len(o) for o in last[0]], [50, 0])
        env.reset(seed=7)
        self.assertEqual(env.run([script, script])[4], last[4])

    def test_any_sequence_has_actions(self):
        class Array:  # as those of NumPy, which are no collections.abc.Sequence
            def __init__(self, *items):
                self.items = items

            def __len__(self):
                return len(self.items)

            def __getitem__(self, i):
                return self.items[i]

        env, rows = self.opened(VectorEnv(2, rounds=1)), []
        for kind in (list, tuple, bytes, lambda x: Array(*x)):
            first = env.reset(seed=7)
            rows.append((first, env.step(kind([BUY_YES, HOLD])), env.run(kind([[HOLD], [BUY_NO]]) if kind is not bytes else [kind([HOLD]), kind([BUY_NO])])))
        self.assertEqual(rows, rows[:1] * 4)

    def test_errors_step_nothing(self):
        env = self.opened(VectorEnv(2, rounds=2))
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step([HOLD, HOLD])
        env.reset(seed=1)
        for bad in (5, 1.5, "1", None):
            with self.assertRaisesRegex(ValueError, "action"):
                env.step([HOLD, bad])
            with self.assertRaisesRegex(ValueError, "action"):
                env.run([[HOLD], [HOLD, bad]])
        for n in (1, 3):
            with self.assertRaisesRegex(ValueError, f"{n} actions for 2 environments"):
                env.step([HOLD] * n)
        for n, text in ((100_000, "at most 100000"), (1 << 20, "over 1048576 bytes")):
            with self.assertRaisesRegex(ValueError, text):
                env.run([[HOLD], [HOLD] * n])
        for bad, kind in (({0: 1, 1: 1}, "dict"), ({1, 2}, "set"), ((a for a in (1, 1)), "generator"), (1, "int"), (None, "NoneType")):
            with self.assertRaisesRegex(TypeError, f"^actions .*: {kind} is no sequence$"):
                env.step(bad)
            with self.assertRaisesRegex(TypeError, f"^actions .*: {kind} is no sequence$"):
                env.run(bad)
            with self.assertRaisesRegex(TypeError, f"^actions of environment 1: .*: {kind} is no sequence$"):
                env.run([[HOLD], bad])
        with self.assertRaisesRegex(ValueError, "seed 9223372036854775808"):
            env.reset(seed=(1 << 63) - 1)
        got = env.run([actions(), actions()])
        env.reset(seed=1)
        self.assertEqual(env.run([actions(), actions()]), got)
        env.close()
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.run([[HOLD], [HOLD]])
        with self.assertRaisesRegex(ValueError, "0 environments"):
            VectorEnv(0)
        with self.assertRaisesRegex(ValueError, "n 1.5: a whole number"):
            VectorEnv(1.5)
        with self.assertRaisesRegex(ValueError, "at most 256"):
            self.opened(VectorEnv(257)).reset(seed=1)

    def test_the_policies(self):
        for policy in (random_policy, fair_policy):
            env = self.opened(VectorEnv(4, rounds=3))
            obs, _ = env.reset(seed=1)
            draws, total, ended = [random.Random(k) for k in range(4)], 0.0, False
            while not ended:
                obs, rewards, terminated, _, _ = env.step([policy(o, d) for o, d in zip(obs, draws)])
                total, ended = total + sum(rewards), all(terminated)
            self.assertNotEqual(total, 0)


class Parallel(Case):
    """Among others the rules of pettingzoo.test.parallel_api_test."""

    def test_rules(self):
        env = self.opened(parallel_env(3, rounds=2))
        self.assertEqual((len(env.possible_agents), env.agents), (3, []))
        self.assertEqual((env.unwrapped, env.num_agents, env.max_num_agents), (env, 0, 3))
        for a in env.possible_agents:
            self.assertIs(env.observation_space(a), env.observation_space(a))
            self.assertIs(env.action_space(a), env.action_space(a))
            env.action_space(a).seed(len(a))
        for seed in (1, None):
            obs, infos = env.reset(seed=seed)
            self.assertEqual(env.agents, env.possible_agents)
            self.assertEqual((env.num_agents, env.max_num_agents), (3, 3))
            live = list(env.agents)
            self.assertEqual((set(obs), set(infos)), (set(live), set(live)))
            for n in range(1000):
                obs, rewards, terminated, truncated, infos = out = env.step({a: env.action_space(a).sample() for a in live})
                for x in out:
                    self.assertIs(type(x), dict)
                    self.assertEqual(set(x), set(live))
                for a in live:
                    self.in_space(obs[a], env.observation_space(a))
                    self.assertIs(type(rewards[a]), float)
                over = {a for a in live if terminated[a] or truncated[a]}
                self.assertEqual(set(env.agents), set(live) - over)
                self.assertEqual(live, env.possible_agents)
                if not env.agents:
                    break
            self.assertEqual((n + 1, env.agents, over), (STEPS, [], set(live)))
            self.assertEqual((env.num_agents, env.max_num_agents), (0, 3))
            self.assertEqual(len({infos[a]["commands_hash"] for a in live}), 1)
            self.assertEqual(env.step({}), ({}, {}, {}, {}, {}))

    def test_the_same_seed_and_actions_are_the_same_episode(self):
        def play():
            env = self.opened(parallel_env(2, rounds=1, max_steps=40))
            rows = [env.reset(seed=9)]
            for i, a in enumerate(actions(40)):
                rows.append(env.step({x: (a + k) % ACTIONS for k, x in enumerate(env.agents)}))
            self.assertEqual(rows[-1][3], {"agent-1": True, "agent-2": True})
            return rows

        self.assertEqual(play(), play())

    def test_agents_trade_with_the_same_market(self):
        env = self.opened(parallel_env(2, rounds=1))
        env.reset(seed=4)
        for _ in range(5):
            env.step(dict.fromkeys(env.agents, HOLD))
        obs = env.step({"agent-1": BUY_YES, "agent-2": HOLD})[0]
        self.assertGreater(obs["agent-1"][4], 0)
        self.assertEqual(obs["agent-2"][4], 0)
        self.assertEqual(obs["agent-1"][:4], obs["agent-2"][:4])

    def test_errors(self):
        env = self.opened(parallel_env(2, rounds=1))
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step({})
        first = env.reset(seed=1)
        for bad in ({}, {"agent-1": HOLD}, {"agent-1": HOLD, "agent-2": HOLD, "agent-3": HOLD}):
            with self.assertRaisesRegex(ValueError, "one for each of agent-1, agent-2"):
                env.step(bad)
        with self.assertRaisesRegex(ValueError, "action 7"):
            env.step({"agent-1": HOLD, "agent-2": 7})
        stepped = env.step(dict.fromkeys(env.agents, HOLD))
        self.assertEqual((env.reset(seed=1), env.step(dict.fromkeys(env.agents, HOLD))), (first, stepped))
        for seats in (0, 65):
            with self.assertRaisesRegex(ValueError, f"{seats} seats"):
                parallel_env(seats)
        with self.assertRaisesRegex(ValueError, "seats 1.5: a whole number"):
            parallel_env(1.5)


class Lane(Case):
    SEAT = """
import http.client, json, os, sys
from duplex_env import Connection, Seat, VenueError
seat, seen = Seat(Connection(os.environ["DX_URL"], os.environ["DX_KEY"], os.environ["DX_SECRET"])), []
seat.advance(2000)
seat.look()
for action in sys.argv[1]:
    seat.act(int(action))
    seat.advance(seat.step_ms)
    seat.look()
    seen.append(seat.observation())
with open(sys.argv[2], "w") as f:
    json.dump(seen, f)
"""

    def test_a_seat_over_rest_is_the_same_episode(self):
        env, script = self.opened(VectorEnv(1, rounds=2)), actions()
        env.reset(seed=7)
        obs, _, _, _, infos = env.run([script])
        with tempfile.TemporaryDirectory() as folder:
            work = pathlib.Path(folder)
            (work / "seat.py").write_text(self.SEAT)
            command = shlex.join([sys.executable, "-B", str(work / "seat.py"), "".join(map(str, script)), str(work / "seen.json")])
            (work / "arena.toml").write_text(f"[[seat]]\nname = 'agent'\nfund = 1000\ncommand = {json.dumps(command)}\n")
            env = {**os.environ, "PYTHONPATH": str(pathlib.Path(duplex_env.__file__).parents[1])}
            done = subprocess.run([*dx_command(), "arena", "run", str(work / "arena.toml"), "--seeds", "7", "--rounds", "2", "--out", str(work / "run")], env=env, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            manifest = json.loads((work / "run/7/agent/manifest.json").read_text())
            self.assertEqual(json.loads((work / "seen.json").read_text()), [list(o) for o in obs[0]])
        self.assertEqual(manifest["commands_hash"], infos[0]["commands_hash"])


def left(group):
    """Reports whether a process of the group is left, for at most 10 s."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.01)
    return True


@unittest.skipUnless(hasattr(os, "killpg"), "no process groups")
class Processes(Case):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        path = pathlib.Path(folder.name, "wrapper")  # runs dx as a child, as go run does
        path.write_text(f'#!/bin/sh\n{shlex.join(dx_command())} "$@"\nexit $?\n', encoding="utf-8")
        path.chmod(0o700)
        self.command = [str(path)]

    def test_one_process_for_all(self):
        first, second = self.opened(DuplexEnv(command=self.command)), self.opened(VectorEnv(2, command=self.command))
        first.reset(seed=1)
        second.reset(seed=1)
        first.reset(seed=2)
        process = first.venues.server.process
        self.assertIs(second.venues.server.process, process)
        first.close()
        second.step([HOLD, HOLD])
        second.close()
        self.assertFalse(left(process.pid))
        self.assertEqual(process.returncode, 0)

    def test_what_nobody_closes_is_dropped(self):
        env, kept = VectorEnv(3, command=self.command), self.opened(DuplexEnv(command=self.command))
        env.reset(seed=1)
        kept.reset(seed=1)
        del env
        kept.step(HOLD)
        self.assertEqual(kept.venues.server.open, 1)

    def test_a_program_that_ends_leaves_no_process(self):
        program = f"import os, duplex_env\nenv = duplex_env.DuplexEnv(command={self.command!r})\nenv.reset(seed=1)\nprint(env.venues.server.process.pid, flush=True)\n"
        for last, code in (("raise SystemExit(3)", 3), (f"os.kill(os.getpid(), {int(signal.SIGKILL)})", -signal.SIGKILL)):
            done = subprocess.run([sys.executable, "-B", "-c", program + last], env={**os.environ, "PYTHONPATH": str(pathlib.Path(duplex_env.__file__).parents[1])}, stdout=subprocess.PIPE, timeout=120)
            self.assertEqual(done.returncode, code)
            self.assertFalse(left(int(done.stdout)))

    def test_a_process_that_does_not_start_or_dies(self):
        with self.assertRaisesRegex(RuntimeError, "ended with 1"):
            DuplexEnv(command=["false"]).reset(seed=1)
        env = self.opened(DuplexEnv(command=self.command))
        first = env.reset(seed=1)
        os.killpg(env.venues.server.process.pid, signal.SIGKILL)
        with self.assertRaisesRegex(RuntimeError, "ended with"):
            env.step(HOLD)
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step(HOLD)
        self.assertEqual(env.reset(seed=1), first)

    def test_an_interrupted_request_ends_the_process(self):
        env = self.opened(DuplexEnv(command=self.command))
        env.reset(seed=1)
        process = env.venues.server.process
        with mock.patch.object(server.json, "loads", side_effect=KeyboardInterrupt), self.assertRaises(KeyboardInterrupt):
            env.step(HOLD)
        self.assertFalse(left(process.pid))
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step(HOLD)
        env.reset(seed=1)
        env.step(HOLD)

    def test_a_forked_program_has_environments_of_its_own(self):
        env = self.opened(DuplexEnv(command=self.command))
        first = env.reset(seed=1)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with self.assertRaisesRegex(RuntimeError, "call reset"):
                    env.step(HOLD)
                code = 0 if env.reset(seed=1) == first and env.step(HOLD) else 2
                env.close()
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        env.step(HOLD)


class Installed(Case):
    """The environments beside a Gymnasium and a PettingZoo that record what is called."""

    def test_gymnasium_and_pettingzoo(self):
        seeds, registered = [], []

        class Env:
            def reset(self, *, seed=None, options=None):
                seeds.append(seed)

        class ParallelEnv:
            pass

        gymnasium, numpy, pettingzoo = (types.ModuleType(x) for x in ("gymnasium", "numpy", "pettingzoo"))
        gymnasium.Env, gymnasium.register = Env, lambda **k: registered.append(k)
        gymnasium.spaces = types.SimpleNamespace(Discrete=lambda n: n, Box=lambda *a: a)
        numpy.inf, numpy.float64, numpy.array = math.inf, float, lambda x, dtype: tuple(map(dtype, x))
        pettingzoo.ParallelEnv = ParallelEnv
        own = {k: v for k, v in sys.modules.items() if k.partition(".")[0] == "duplex_env"}
        with mock.patch.dict(sys.modules, gymnasium=gymnasium, numpy=numpy, pettingzoo=pettingzoo):
            for name in own:
                del sys.modules[name]
            module = importlib.import_module("duplex_env")
        self.assertEqual(registered, [{"id": "Duplex-v0", "entry_point": module.DuplexEnv}])
        env = self.opened(module.DuplexEnv())
        self.assertIsInstance(env, Env)
        self.assertEqual((env.action_space, env.observation_space), (5, (-math.inf, math.inf, (8,), float)))
        obs, info = env.reset(seed=11)
        self.assertIsInstance(obs, tuple)
        self.assertEqual((seeds, info["seed"]), ([11], 11))
        several = self.opened(module.parallel_env(2))
        self.assertIsInstance(several, ParallelEnv)
        self.assertIsInstance(several.reset(seed=1)[0]["agent-2"], tuple)


if __name__ == "__main__":
    unittest.main()
