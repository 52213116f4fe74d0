"""Runs a program on a terminal of its own, and prints as JSON what was on the screen before it ended, how it ended, and whether it gave the
terminal back. usage: full_screen.py STEPS PROGRAM ARG…; steps are a JSON array of {"wait": text on the screen}, {"gone": text}, {"type": keys},
{"size": [rows, columns]}, {"signal": number}, {"run": command of a shell}, {"close": the terminal}."""
import codecs, fcntl, json, os, pty, re, select, struct, subprocess, sys, termios, time

SECONDS_MAX = 60
ALTERNATE, ORDINARY = "\x1b[?1049h", "\x1b[?1049l"
# A place, an end of the line or screen to clear, any other sequence, one character.
PIECES = re.compile(r"\x1b\[(\d+);(\d+)H|\x1b\[(\d?)J|(\x1b(?:\[[0-9;?]*[A-Za-z]|[^\[]))|([^\x1b])", re.S)


class Terminal:
    def __init__(self, program):
        self.shown, self.drawn, self.decoder = "", 0, codecs.getincrementaldecoder("utf-8")("replace")
        self.cells, self.row, self.column = {}, 0, 0
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "xterm-256color"
            os.execvp(program[0], program)

    def read(self, seconds):
        """False at the end."""
        if not select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            part = os.read(self.fd, 65536)
        except OSError:
            part = b""
        self.shown += self.decoder.decode(part)
        return part != b""

    def screen(self):
        """What the sequences so far draw."""
        while piece := PIECES.match(self.shown, self.drawn):
            row, column, clear, other, letter = piece.groups()
            if row:
                self.row, self.column = int(row) - 1, int(column) - 1
            elif clear is not None:
                self.cells = {}
            elif letter and letter >= " ":
                self.cells[self.row, self.column] = letter
                self.column += 1
            self.drawn = piece.end()
        rows = {}
        for (row, column), letter in sorted(self.cells.items()):
            rows[row] = rows.get(row, "").ljust(column) + letter
        return "\n".join(rows[row].rstrip() for row in sorted(rows))

    def until(self, is_so, told):
        end = time.time() + SECONDS_MAX
        while not is_so(self.screen()):
            if time.time() > end or not self.read(0.2):
                sys.exit(f"{told} on this screen:\n{self.screen()}\n{self.shown[-2000:]!r}")

    def wait(self, text):
        self.until(lambda screen: text in screen, f"{text!r} is not")

    def gone(self, text):
        self.until(lambda screen: text not in screen, f"{text!r} still is")

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def size(self, rows_and_columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", *rows_and_columns, 0, 0))

    def signal(self, number):
        os.kill(self.pid, number)

    def close(self, _):
        os.close(self.fd)
        self.fd = None

    def run(self, command):
        subprocess.run(command, shell=True, check=True, timeout=SECONDS_MAX)

    def ended(self):
        screen, end = self.screen(), time.time() + SECONDS_MAX
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            if time.time() > end:
                os.kill(self.pid, 9)
            self.read(0.1) if self.fd is not None else time.sleep(0.1)
        if self.fd is None:
            return {"screen": screen, "code": os.waitstatus_to_exitcode(status), "is_restored": None}
        modes = termios.tcgetattr(self.fd)[3]
        while select.select([self.fd], [], [], 0)[0] and self.read(0):
            pass
        is_ordinary = self.shown.rfind(ORDINARY) > self.shown.rfind(ALTERNATE) >= 0
        is_restored = bool(modes & termios.ECHO and modes & termios.ICANON) and is_ordinary
        return {"screen": screen, "code": os.waitstatus_to_exitcode(status), "is_restored": is_restored}


terminal = Terminal(sys.argv[2:])
terminal.size([40, 150])
for step in json.loads(sys.argv[1]):
    for name, value in step.items():
        getattr(terminal, name)(value)
print(json.dumps(terminal.ended()))
