"""Hostile code on each level of isolation of this machine: what it gets, how it ends, and that we are unharmed."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from engine.sandbox import LEVELS, Call, CaseResult, Limits, Outcome, Program, available_levels

LIMITS = Limits(
    seconds=0.8,
    total_seconds=6,
    memory_bytes=192 * 2**20,
    processes=4,
    output_bytes=20_000,
    scratch_bytes=2**20,
)
AVAILABLE = available_levels()
FORKING = [name for name in AVAILABLE if name != "webassembly"]
pytestmark = pytest.mark.skipif(not AVAILABLE, reason="no level of isolation works on this machine")


@pytest.fixture(params=AVAILABLE)
def level(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def unharmed() -> Iterator[None]:
    """No process, thread, file descriptor or signal of ours is another one after the test."""
    us = psutil.Process()
    before = len(us.children(recursive=True)), us.num_fds()
    yield
    deadline = time.monotonic() + 2
    while (len(us.children(recursive=True)), us.num_fds()) != before and time.monotonic() < deadline:
        time.sleep(0.02)
    processes, descriptors = len(us.children(recursive=True)), us.num_fds()
    assert processes == before[0]
    assert descriptors <= before[1] + 8  # the first use of WebAssembly opens its cache


def run(level: str, code: str, stdin: str = "", limits: Limits = LIMITS) -> CaseResult:
    (result,) = LEVELS[level].run(code, [Program(stdin)], limits)
    return result


def test_a_program_reads_its_input_and_its_output_comes_back(level: str) -> None:
    for read in ("input()", "open(0).read().strip()", "sys.stdin.buffer.read().decode().strip()"):
        result = run(level, f"print({read}[::-1])", "ab\N{SNOWMAN}\n")
        assert (result.outcome, result.stdout, result.error) == (Outcome.FINISHED, "\N{SNOWMAN}ba\n", "")


def test_functions_and_methods_return_json(level: str) -> None:
    code = """
def add(a, b):
    return (a, b, a + b)
class Solution:
    def double(self, x: List[int]):
        return x * 2
"""
    results = LEVELS[level].run(code, [Call("add", (1, 2)), Call("double", ([1],)), Call("missing")], LIMITS)
    assert [one.value for one in results] == ["[1, 2, 3]", "[1, 1]", None]
    assert [one.outcome for one in results] == [Outcome.FINISHED, Outcome.FINISHED, Outcome.RAISED]
    assert "no function 'missing'" in results[2].error


def test_one_case_does_not_see_what_another_has_left(level: str) -> None:
    code = "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)"
    results = LEVELS[level].run(code, [Call("f", (1,)), Call("f", (2,))], LIMITS)
    assert [one.value for one in results] == ["1", "1"]


def test_an_exception_is_reported_with_its_line(level: str) -> None:
    result = run(level, "x = 1\nx / 0")
    assert (result.outcome, result.error) == (Outcome.RAISED, "ZeroDivisionError: division by zero (line 2)")


@pytest.mark.parametrize("code", ["def (", "\ud800", "\x00", "(" * 10_000])
def test_what_cannot_be_compiled_is_reported_as_no_python(level: str, code: str) -> None:
    results = LEVELS[level].run(code, [Program(), Call("f")], LIMITS)
    assert [one.outcome for one in results] == [Outcome.NOT_PYTHON] * 2


@pytest.mark.parametrize("code", ["raise SystemExit(3)", "class E(BaseException): pass\nraise E", "eval('(')"])
def test_whatever_is_raised_is_reported(level: str, code: str) -> None:
    assert run(level, code).outcome is Outcome.RAISED


def test_exits_are_what_they_say(level: str) -> None:
    assert run(level, "print(1)\nexit()").outcome is Outcome.FINISHED
    assert run(level, "import sys\nsys.exit(1)").outcome is Outcome.RAISED
    silent = run(level, "import os\nprint('PASSED', flush=True)\nos._exit(0)")
    assert (silent.outcome, silent.stdout) == (Outcome.FINISHED, "PASSED\n")
    (called,) = LEVELS[level].run("import os\ndef f():\n    os._exit(0)", [Call("f")], LIMITS)
    assert (called.outcome, called.value) == (Outcome.RAISED, None)


def test_an_endless_loop_is_a_time_out(level: str) -> None:
    started = time.monotonic()
    assert run(level, "while True: pass").outcome is Outcome.TIMED_OUT
    assert time.monotonic() - started < 4


def test_sleeping_is_a_time_out_too_and_no_signal_handler_prevents_it(level: str) -> None:
    code = "import signal, time\nfor s in (signal.SIGINT, signal.SIGTERM):\n    signal.signal(s, signal.SIG_IGN)\n"
    assert run(level, code + "time.sleep(60)").outcome is Outcome.TIMED_OUT


def test_the_time_of_all_cases_is_limited_and_the_rest_is_not_run(level: str) -> None:
    limits = Limits(seconds=0.6, total_seconds=1.0, memory_bytes=LIMITS.memory_bytes)
    results = LEVELS[level].run("while True: pass", [Program()] * 4, limits)
    # a busy machine may take so long to start the first that there is no time for a second
    first, *_, third, fourth = [one.outcome for one in results]
    assert (first, third, fourth) == (Outcome.TIMED_OUT, Outcome.NOT_RUN, Outcome.NOT_RUN)


def test_memory_is_limited(level: str) -> None:
    limits = replace(LIMITS, seconds=10, total_seconds=20)  # a busy machine is slow to give memory
    assert run(level, "x = bytearray(10**9)", limits=limits).outcome is Outcome.OUT_OF_MEMORY
    grown = run(level, "x = []\nwhile True: x.append(bytearray(10**7))", limits=limits)
    assert grown.outcome is Outcome.OUT_OF_MEMORY


def test_endless_output_is_stopped_and_cut(level: str) -> None:
    result = run(level, "while True: print('x' * 1000)")
    assert result.outcome is Outcome.OUTPUT_OVERFLOW
    assert len(result.stdout) <= LIMITS.output_bytes


def test_endless_errors_and_values_are_stopped_too(level: str) -> None:
    assert run(level, "import sys\nwhile True: sys.stderr.write('x' * 1000)").outcome is Outcome.OUTPUT_OVERFLOW
    (value,) = LEVELS[level].run("def f():\n    return 'x' * 10**6", [Call("f")], LIMITS)
    assert value.outcome is Outcome.OUTPUT_OVERFLOW


def test_deep_recursion_ends_only_the_case(level: str) -> None:
    assert run(level, "def f(): f()\nf()").outcome is Outcome.RAISED
    code = "import sys\nsys.setrecursionlimit(10**9)\nclass A:\n    def __repr__(self): return repr([self])\nrepr(A())"
    patient = replace(LIMITS, seconds=10, total_seconds=20)  # the stack takes a while to fill on a busy machine
    assert run(level, code, limits=patient).outcome in (Outcome.KILLED, Outcome.OUT_OF_MEMORY, Outcome.RAISED)


def test_no_file_of_the_machine_can_be_read(level: str, tmp_path: Path) -> None:
    secret = tmp_path / "expected.json"
    secret.write_text("the expected output")
    paths = ["/etc/passwd", "/etc/shadow", "/proc/self/environ", "/proc/1/environ", f"/proc/{os.getpid()}/environ"]
    paths += [str(secret), __file__, "/proc/self/cwd/../etc/passwd", "/proc/1/mem"]
    paths += [str(Path("/proc/1", "root", "etc", "passwd"))]  # the root folder of process 1, whoever that is
    code = f"for path in {paths}:\n    try:\n        print(open(path, 'rb').read(9))\n    except OSError:\n        pass"
    result = run(level, code)
    assert (result.outcome, result.stdout) == (Outcome.FINISHED, "")


def test_the_environment_has_no_secrets(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("API_KEY", "a secret")
    assert "a secret" not in run(level, "import os\nprint(dict(os.environ))").stdout


def test_nothing_outside_the_scratch_folder_can_be_written(level: str, tmp_path: Path) -> None:
    folders = [str(tmp_path), "", "/usr/lib", "/etc", "/dev", "/tmp", str(Path(os.__file__).parent)]
    paths = [f"{folder}/{tmp_path.name}" for folder in folders]
    code = f"""
for path in {paths}:
    try:
        open(path, 'w')
        print(path)
    except OSError:
        pass
"""
    assert run(level, code).stdout == ""
    assert not any(Path(path).exists() for path in paths)


def test_there_is_no_network_not_even_our_own(level: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import socket
def tried(action):
    try:
        action()
        print(action)
    except (OSError, AttributeError):
        pass
tried(lambda: socket.create_connection(("127.0.0.1", {port}), 0.3))
tried(lambda: socket.create_connection(("192.0.2.1", 80), 0.3))
tried(lambda: socket.getaddrinfo("example.com", 80))
tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("192.0.2.1", 53)))
"""
        result = run(level, code)
    assert (result.outcome, result.stdout) == (Outcome.FINISHED, "")


def test_no_file_descriptor_of_ours_is_inherited(level: str, tmp_path: Path) -> None:
    with (tmp_path / "ours").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        code = """
import os
for fd in range(4, 300):
    try:
        os.write(fd, b'forged')
    except OSError:
        pass
"""
        assert run(level, code).outcome is Outcome.FINISHED
    assert (tmp_path / "ours").read_text() == ""


@pytest.mark.parametrize(
    "forged", ["PASSED", '{"ended": "finished", "value": "1"}', "\x00", "[" * 9999, "null", "1e999"]
)
def test_a_forged_report_is_only_a_value_that_it_returned(level: str, forged: str) -> None:
    code = f"import os\ndef f():\n    try:\n        os.write(3, {forged!r}.encode())\n    finally:\n        os._exit(0)"
    (result,) = LEVELS[level].run(code, [Call("f")], LIMITS)
    assert result.outcome in (Outcome.RAISED, Outcome.FINISHED)


@pytest.mark.parametrize("level", FORKING)
def test_a_fork_bomb_is_contained(level: str) -> None:
    code = "import os\nwhile True:\n    try:\n        os.fork()\n    except OSError:\n        pass"
    started = time.monotonic()
    first, second = LEVELS[level].run(code + "\n", [Program(), Program()], LIMITS)
    assert {first.outcome, second.outcome} == {Outcome.TIMED_OUT}
    assert time.monotonic() - started < 6


@pytest.mark.parametrize("level", FORKING)
def test_the_number_of_processes_and_threads_is_limited(level: str) -> None:
    forks = """
import os, time
n = 0
try:
    while os.fork():
        n += 1
    time.sleep(9)
except OSError:
    print(n)
"""
    assert 1 <= int(run(level, forks).stdout) <= LIMITS.processes
    threads = """
import threading, time
n = 0
try:
    while True:
        threading.Thread(target=time.sleep, args=(0.5,), daemon=True).start()
        n += 1
except RuntimeError:
    print(n)
"""
    assert 1 <= int(run(level, threads).stdout) <= LIMITS.processes


@pytest.mark.parametrize("level", FORKING)
def test_a_process_that_left_its_session_does_not_survive_its_case(level: str) -> None:
    code = """
import os, sys, time
if sys.stdin.read() == "start":
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                open("alive", "a").write("x")
                time.sleep(0.01)
        os._exit(0)
    time.sleep(0.2)
else:
    before = os.path.getsize("alive")
    time.sleep(0.2)
    print(before > 0, os.path.getsize("alive") - before)
"""
    started = time.monotonic()
    first, second = LEVELS[level].run(code, [Program("start"), Program("watch")], LIMITS)
    assert (first.outcome, second.outcome, second.stdout) == (Outcome.FINISHED, Outcome.FINISHED, "True 0\n")
    assert time.monotonic() - started < 3


@pytest.mark.parametrize("level", FORKING)
def test_code_cannot_stop_who_watches_it(level: str) -> None:
    code = """
import os, signal
for one in (os.getppid(), -1):
    os.kill(one, signal.SIGKILL)
    os.kill(one, signal.SIGSTOP)
print(1)
"""
    stopped, after = LEVELS[level].run(code, [Program(), Program()], LIMITS)
    assert stopped.outcome is after.outcome
    assert after.outcome in (Outcome.FINISHED, Outcome.RAISED)


@pytest.mark.parametrize("level", FORKING)
def test_memory_by_many_processes_and_files_is_limited(level: str) -> None:
    full = """
n = 0
try:
    for i in range(99):
        n += open(str(i), 'wb', 0).write(bytes(100_000))
except OSError:
    print(n)
"""
    assert int(run(level, full).stdout) <= LIMITS.scratch_bytes
    swarm = """
import os
for _ in range(9):
    try:
        os.fork()
    except OSError:
        pass
x = []
while True:
    x.append(bytearray(10**6))
"""
    assert run(level, swarm).outcome in (Outcome.OUT_OF_MEMORY, Outcome.TIMED_OUT)


@pytest.mark.parametrize("level", FORKING)
def test_copies_that_a_program_forks_do_not_report_for_it(level: str) -> None:
    code = """
import os
if os.fork() == 0:
    raise ValueError("the copy's")
os.wait()
print("parent")
"""
    result = run(level, code)
    assert (result.outcome, result.stdout, result.error) == (Outcome.FINISHED, "parent\n", "")
    result = run(level, code + "raise KeyError('its own')")
    assert (result.outcome, result.error) == (Outcome.RAISED, "KeyError: 'its own' (line 7)")


@pytest.mark.parametrize("level", FORKING)
def test_a_crash_is_reported_as_one(level: str) -> None:
    result = run(level, "import ctypes\nctypes.string_at(0)")
    assert (result.outcome, result.error) == (Outcome.KILLED, "signal SIGSEGV")


def test_threads_of_ours_run_sandboxes_side_by_side(level: str) -> None:
    results: dict[int, CaseResult] = {}

    def one(number: int) -> None:
        results[number] = run(level, "print(input())", str(number))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {number: result.stdout for number, result in results.items()} == {n: f"{n}\n" for n in range(6)}
