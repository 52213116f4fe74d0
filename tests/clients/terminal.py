"""Types lines into an interactive shell on a terminal of its own, and prints what the terminal showed.
usage: terminal.py LINES SHELL ARG…; of a line `typed<TAB>expected` the first part is typed and completed, again and again until the
terminal shows the second, and cleared; of `typed<TAB>expected<ENTER>rest` it is entered, with the rest behind it; `line<UNTIL>text` is
entered again until the text was shown."""
import os, pty, select, sys, time

SECONDS_MAX = 60
QUIET_SECONDS_MAX = 8


def read(fd, until, seconds, quiet=SECONDS_MAX):
    """Until that is shown, the time is over, or nothing was shown for a while."""
    shown, end, last = b"", time.time() + seconds, time.time()
    while time.time() < min(end, last + quiet) and until not in shown:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                part = os.read(fd, 65536)
            except OSError:
                break
            if not part:
                break
            shown, last = shown + part, time.time()
    return shown

def complete(typed, expected, is_again):
    """A completion that a busy machine takes too long for is none: then it is typed anew."""
    shown, end = b"", time.time() + SECONDS_MAX
    while True:
        os.write(fd, typed + b"\t")
        part = read(fd, expected, SECONDS_MAX, QUIET_SECONDS_MAX)
        shown += part
        if expected in part or not is_again or time.time() > end:
            return shown
        # The end of the line, everything before it is erased.
        os.write(fd, b"\x05\x15")

lines, command = sys.argv[1].split("\n"), sys.argv[2:]
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "dumb"
    os.execvp(command[0], command)
out = b""
for number, line in enumerate(lines):
    typed, tab, expected = line.partition("<TAB>")
    if tab:
        expected, enter, rest = expected.partition("<ENTER>")
        out += complete(typed.encode(), expected.encode(), not enter and expected != "\a")
        if enter:
            os.write(fd, f"{rest}\necho ma''rk{number}.\n".encode())
            out += read(fd, f"mark{number}.".encode(), SECONDS_MAX)
            continue
        os.write(fd, b"\x05\x15\n")
        out += read(fd, b"never", 0.5)
        continue
    line, until, wanted = line.partition("<UNTIL>")
    end = time.time() + SECONDS_MAX
    while until and wanted.encode() not in out and time.time() < end:
        os.write(fd, f"{line}\necho ma''rk{number}.\n".encode())
        out += read(fd, f"mark{number}.".encode(), SECONDS_MAX)
    if until:
        continue
    mark = f"mark{number}.".encode()
    os.write(fd, line.encode() + b"\n")
    os.write(fd, f"echo ma''rk{number}.\n".encode())
    out += read(fd, mark, SECONDS_MAX)
os.write(fd, b"exit\n")
out += read(fd, b"never", 1)
os.close(fd)
sys.stdout.buffer.write(out)
