"""Tests the training environment on venues in virtual time. DX_BIN is the command of dx."""

import importlib.util
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

import duplex_env
from duplex_env import BUY_YES, HOLD, SELL_YES, DuplexEnv, VectorEnv, dx_command


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


def wrapper(folder):
    """A command that runs dx as a child and passes no signal on, as go run does."""
    path = pathlib.Path(folder, "wrapper")
    path.write_text(f'#!/bin/sh\n{shlex.join(dx_command())} "$@" &\nwait\n', encoding="utf-8")
    path.chmod(0o700)
    return [str(path)]


class Environment(unittest.TestCase):
    def test_truncated_at_the_limit_of_steps(self):
        env = DuplexEnv(rounds=20, max_steps=3)
        self.addCleanup(env.close)
        env.reset(seed=1)
        ends = [env.step(HOLD)[2:4] for _ in range(3)]
        self.assertEqual(ends, [(False, False), (False, False), (False, True)])
        env.reset(seed=1)
        self.assertEqual(env.step(HOLD)[2:4], (False, False))

    def test_terminated_when_the_last_round_is_final(self):
        env = DuplexEnv(rounds=1, max_steps=90, step_ms=5000)
        self.addCleanup(env.close)
        env.reset(seed=1)
        terminated = truncated = False
        while not (terminated or truncated):
            obs, _, terminated, truncated, info = env.step(HOLD)
            self.assertEqual(len(obs), duplex_env.OBSERVATIONS)
        self.assertEqual((terminated, truncated, info["rounds_final"]), (True, False, 1))

    def test_rewards_sum_to_the_change_of_equity(self):
        env = DuplexEnv(rounds=2)
        self.addCleanup(env.close)
        _, info = env.reset(seed=4)
        first, total = info["equity"], 0.0
        for n in range(40):
            obs, reward, _, _, info = env.step({5: BUY_YES, 20: SELL_YES}.get(n, HOLD))
            total += reward
            if n == 6:
                self.assertGreater(obs[4], 0)
        self.assertNotEqual(total, 0)
        self.assertAlmostEqual(total, info["equity"] - first)

    def test_a_lost_answer_lets_no_more_time_pass(self):
        env = DuplexEnv(rounds=1)
        self.addCleanup(env.close)
        env.reset(seed=1)
        connection, lost = env.seat.connection, []
        once = connection.once

        def losing(method, target, body):
            answer = once(method, target, body)
            if target == "/v1/arena/advance" and not lost:
                lost.append(answer)
                raise ConnectionResetError
            return answer

        before = int(connection.call("GET", "/v1/time")["venue_time"])
        with mock.patch.object(connection, "once", losing):
            env.step(HOLD)
        self.assertEqual(len(lost), 1)
        after = int(connection.call("GET", "/v1/time")["venue_time"])
        self.assertEqual(after - before, env.step_ms * 1_000_000)

    def test_a_seat_that_starts_again_places_orders(self):
        env = DuplexEnv(rounds=2)
        self.addCleanup(env.close)
        env.reset(seed=4)
        for n in range(7):
            env.step(BUY_YES if n == 5 else HOLD)
        held = env.seat.held["yes"]
        self.assertGreater(held, 0)
        again = duplex_env.Seat(env.seat.connection)
        again.look()
        again.act(BUY_YES)
        again.look()
        self.assertGreater(again.held["yes"], held)

    def test_vectorized(self):
        def play():
            env = VectorEnv(2, rounds=2)
            try:
                obs, infos = env.reset(seed=7)
                rows = [obs]
                for n in range(12):
                    obs, rewards, terminated, truncated, infos = env.step([BUY_YES if n == 5 else HOLD, HOLD])
                    rows.append([obs, rewards, terminated, truncated])
                return str(rows), [i["seed"] for i in infos], obs
            finally:
                env.close()

        rows, seeds, obs = play()
        self.assertEqual(seeds, [7, 8])
        self.assertNotEqual(obs[0][0], obs[1][0])
        self.assertEqual(rows, play()[0], "the same seeds and actions are the same episode")

    def test_an_error_in_one_of_several_is_raised(self):
        env = VectorEnv(2, rounds=1)
        self.addCleanup(env.close)
        env.reset(seed=1)
        env.envs[1].close()
        steps = env.envs[0].steps
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step([HOLD, HOLD])
        self.assertEqual(env.envs[0].steps, steps, "the other one has stepped")

    def test_an_action_that_is_none(self):
        env = VectorEnv(2, rounds=1)
        self.addCleanup(env.close)
        env.reset(seed=1)
        for action in (5, 9, -1, 1.5, 1.0, "1", None):
            with self.assertRaisesRegex(ValueError, "action"):
                env.envs[0].step(action)
            with self.assertRaisesRegex(ValueError, "action"):
                env.envs[0].seat.act(action)
            with self.assertRaisesRegex(ValueError, "action"):
                env.step([HOLD, action])
        with self.assertRaisesRegex(ValueError, "1 actions for 2 environments"):
            env.step([HOLD])
        self.assertEqual([e.steps for e in env.envs], [0, 0])

    def test_step_without_a_venue(self):
        env = DuplexEnv(rounds=1)
        self.addCleanup(env.close)
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step(HOLD)
        env.reset(seed=1)
        env.close()
        with self.assertRaisesRegex(RuntimeError, "call reset"):
            env.step(HOLD)


@unittest.skipUnless(hasattr(os, "killpg"), "no process groups")
class Processes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.command = wrapper(folder.name)

    def test_close_and_reset_leave_no_process(self):
        env = DuplexEnv(command=self.command)
        self.addCleanup(env.close)
        env.reset(seed=1)
        first = env.venue.process.pid
        env.reset(seed=2)
        second = env.venue.process.pid
        self.assertFalse(left(first))
        env.close()
        self.assertFalse(left(second))

    def test_a_program_that_fails_leaves_no_process(self):
        program = f"import duplex_env\nenv = duplex_env.DuplexEnv(command={self.command!r})\nenv.reset(seed=1)\nprint(env.venue.process.pid, flush=True)\nraise SystemExit(3)"
        done = subprocess.run([sys.executable, "-B", "-c", program], cwd=pathlib.Path(__file__).parent, stdout=subprocess.PIPE, timeout=120)
        self.assertEqual(done.returncode, 3)
        self.assertFalse(left(int(done.stdout)))

    def test_a_venue_that_does_not_start(self):
        with self.assertRaisesRegex(RuntimeError, "ended with 1"):
            DuplexEnv(command=["false"]).reset(seed=1)


class WithGymnasium(unittest.TestCase):
    """The environment beside a Gymnasium that records what is called."""

    def test_reset_seeds_gymnasium(self):
        seeds, registered = [], []

        class Env:
            def reset(self, *, seed=None, options=None):
                seeds.append(seed)

        spaces = types.SimpleNamespace(Discrete=lambda n: n, Box=lambda *a: a)
        gymnasium = types.ModuleType("gymnasium")
        gymnasium.Env, gymnasium.spaces, gymnasium.register = Env, spaces, lambda **k: registered.append(k)
        numpy = types.ModuleType("numpy")
        numpy.inf, numpy.float64, numpy.array = float("inf"), float, tuple
        with mock.patch.dict(sys.modules, gymnasium=gymnasium, numpy=numpy):
            spec = importlib.util.spec_from_file_location("duplex_env_of_gymnasium", duplex_env.__file__)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
        self.assertEqual(registered, [{"id": "Duplex-v0", "entry_point": module.DuplexEnv}])
        env = module.DuplexEnv()
        self.addCleanup(env.close)
        self.assertIsInstance(env, Env)
        self.assertEqual((env.action_space, env.observation_space[2]), (5, (duplex_env.OBSERVATIONS,)))
        obs, info = env.reset(seed=11)
        self.assertIsInstance(obs, tuple)
        self.assertEqual((seeds, info["seed"]), ([11], 11))


if __name__ == "__main__":
    unittest.main()
