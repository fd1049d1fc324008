"""The process that holds the environments, and its requests: lines of JSON over its standard input and output."""

import collections
import json
import os
import shlex
import signal
import subprocess
import threading
import weakref


def dx_command():
    """The command of dx: DX_BIN, or else go run in a clone of the repository."""
    return shlex.split(os.environ.get("DX_BIN", "go run ./cmd/dx"))


class Server:
    """A process of dx arena serve --train. It ends when its standard input does: at the latest with this
    program, however that ends."""

    running = {}  # by process id of this program, command and flags
    starting = threading.Lock()

    def __init__(self, command, flags):
        # go run starts dx as a child, and a signal to go run may leave that behind: the processes are a group.
        self.process = subprocess.Popen([*command, "arena", "serve", "--train", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
        self.pid, self.lock = os.getpid(), threading.Lock()
        self.open, self.dropped, self.why = 0, collections.deque(), None

    @classmethod
    def of(cls, command, flags):
        """Returns the process of a command, which all environments of this program share."""
        key = (os.getpid(), *command, None, *flags)
        with cls.starting:
            found = cls.running.get(key)
            if found is None or found.why:
                found = cls.running[key] = cls(command, flags)
            return found

    def usable(self):
        """Reports whether the process runs, and is not that of the program from which this one was forked."""
        return self.why is None and self.pid == os.getpid()

    def ask(self, **request):
        """Sends a request and returns the environments of its answer. A refused one is a ValueError and changes
        nothing; a RuntimeError means that the process has ended, and its environments with it."""
        with self.lock:
            self.sweep()
            if self.why:
                raise RuntimeError(self.why)
            answer = self.exchange(request)
            if "error" not in answer and request["op"] == "open":
                self.open += len(answer["envs"])
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer["envs"]

    def exchange(self, request):
        try:
            self.process.stdin.write(json.dumps(request, separators=(",", ":")).encode() + b"\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, json.JSONDecodeError) as e:
            raise RuntimeError(self.end(wait=10)) from e
        except BaseException:  # the answer would be taken for that of the next request
            self.end(wait=0)
            raise

    def drop(self, numbers):
        """Forgets environments with the next request. It takes no lock, because a finalizer may call it."""
        self.dropped.append(numbers)

    def sweep(self):
        while self.dropped and not self.why:
            numbers = self.dropped.popleft()
            self.exchange({"op": "close", "envs": numbers})
            self.open -= len(numbers)

    def release(self):
        """Closes what was dropped, and ends the process if no environment is left."""
        with self.lock:
            self.sweep()
            if not self.open and not self.why:
                self.end(wait=10)

    def end(self, wait):
        """Ends the process and everything in its group, and returns why it cannot be used."""
        try:
            self.process.stdin.close()
        except OSError:
            pass  # it has ended, and what was not sent is lost
        try:
            self.process.wait(wait)
        except subprocess.TimeoutExpired:
            kill(self.process)
        self.process.stdout.close()
        self.why = f"dx arena serve --train ended with {self.process.wait()}"
        return self.why


def kill(process):
    if not hasattr(os, "killpg"):  # Windows has no groups
        process.kill()
        return
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Venues:
    """Some environments of a process that are opened together."""

    def __init__(self, n, command, flags, **settings):
        self.n, self.command, self.flags, self.settings = n, tuple(command or dx_command()), tuple(flags), settings
        self.server = self.numbers = self.dropping = None

    def reset(self, seeds):
        """Opens a venue of a seed for each environment, and the environments before the first reset."""
        if self.numbers is not None and not self.server.usable():
            self.forget()
        if self.numbers is None:
            server = Server.of(self.command, self.flags)
            try:
                self.numbers, self.server = server.ask(op="open", n=self.n, **self.settings), server
            except ValueError:
                server.release()
                raise
            self.dropping = weakref.finalize(self, server.drop, self.numbers)
            self.dropping.atexit = False  # the process ends with the program
        return self.server.ask(op="reset", envs=self.numbers, seeds=seeds)

    def step(self, texts):
        """Plays actions, a text of digits for each environment."""
        return self.server.ask(op="step", envs=self.numbers, actions=texts)

    def opened(self):
        return self.numbers is not None and self.server.usable()

    def forget(self):
        self.dropping.detach()
        self.server = self.numbers = self.dropping = None

    def close(self):
        if self.opened():
            self.server.drop(self.numbers)
            self.server.release()
        if self.numbers is not None:
            self.forget()
