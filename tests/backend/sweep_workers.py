"""Work shared out to processes that may crash or hang.

A worker reads one item a line and answers with one line of JSON. It announces with `ON_DEVICE` that the part
under test has begun: what ends it before that is no failure of the device.
"""

import collections
import json
import subprocess
import sys
import threading

ON_DEVICE = "on device"
SECONDS = 300  # for one item, after which its process is killed
ITEMS = 60  # of one process, because models leave memory behind


def worker(check):
    """Answer the items on the standard input until it ends."""
    for line in sys.stdin:
        item = line.strip()
        try:
            answer = check(item)
        except Exception as error:
            answer = {"outcome": f"failed: {type(error).__name__}: {error}"[:200]}
        print(json.dumps(answer), flush=True)


def answer_of(process, item):
    """The answer of a process to an item; a process that died or hung is one too."""
    watchdog = threading.Timer(SECONDS, process.kill)
    watchdog.start()
    try:
        process.stdin.write(f"{item}\n")
        process.stdin.flush()
        stage = "not buildable"
        for line in iter(process.stdout.readline, ""):
            if line.strip() == ON_DEVICE:
                stage = "failed"
            elif line.startswith("{"):  # models may print
                return json.loads(line)
        status = process.wait()
        reason = f"the process died with status {status}" if watchdog.is_alive() else f"TimeoutError: {SECONDS} s"
        return {"outcome": f"{stage}: {reason}"}
    finally:
        watchdog.cancel()


def outcomes(command, items, workers, done=None):
    """The answer to each item, from this many processes at a time; `done(answers)` is called after each."""
    waiting, answers, lock = collections.deque(items), {}, threading.Lock()

    def serve():
        while waiting:
            process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(ITEMS):
                try:
                    item = waiting.popleft()
                except IndexError:
                    break
                answer = answer_of(process, item)
                with lock:
                    answers[item] = answer
                    if done:
                        done(answers)
                print(f"{len(answers):>4} {item}: {answers[item]['outcome']}", file=sys.stderr, flush=True)
                if process.poll() is not None:
                    break
            process.stdin.close()
            process.wait()

    threads = [threading.Thread(target=serve) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return {item: answers[item] for item in items}
