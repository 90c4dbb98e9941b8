# What an attempt needs that no shell can do. Prints ESCAPED when it worked.
import ctypes, fcntl, os, socket, struct, sys, termios, time

# Whoever looks now and then, where the kernel does not, has looked by then.
HOLD = 1.5

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long


def call(number, *arguments):
    wide = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *wide)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def tcp(port):
    socket.create_connection(("127.0.0.1", int(port)), 5)


def udp(port):
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"out", ("127.0.0.1", int(port)))


def unix_stream(path):
    socket.socket(socket.AF_UNIX).connect(path)


def unix_datagram(path):
    socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"out", path)


def pair_datagram(path):
    socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"out", path)


def pair_stream(path):
    socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)[0].connect(path)


def abstract(name):
    socket.socket(socket.AF_UNIX).connect("\0" + name)


def vsock(_):
    socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)


def attach(pid):
    call(101, 0x4206, int(pid), 0, 0)  # PTRACE_SEIZE


def memory(pid):
    with open(f"/proc/{pid}/maps") as maps:
        start = int(maps.readline().split("-")[0], 16)
    with open(f"/proc/{pid}/mem", "rb") as mem:
        mem.seek(start)
        assert mem.read(4) == b"\x7fELF"


def vm_read(pid):
    with open(f"/proc/{pid}/maps") as maps:
        start = int(maps.readline().split("-")[0], 16)
    buffer = ctypes.create_string_buffer(4)
    local = struct.pack("PN", ctypes.addressof(buffer), 4)
    remote = struct.pack("PN", start, 4)
    call(310, int(pid), local, 1, remote, 1, 0)
    assert buffer.raw == b"\x7fELF"


def io_uring(_):
    call(425, 1, ctypes.create_string_buffer(120))


def keyring(_):
    call(250, 0, -3, 1)  # the session keyring, made if there is none


def user_namespace(_):
    call(272, 0x10000000)


def clone3(_):
    arguments = struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0)
    if call(435, arguments, len(arguments)) == 0:
        os._exit(0)
    os.wait()


def xattr(path):
    os.setxattr(path, "user.escaped", b"1")


def shared_memory(key):
    number = call(29, int(key), 0, 0)
    print("segment", number)


def be_docker(path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path + ".new")
    listener.listen()
    os.rename(path + ".new", path)
    while True:
        connection, _ = listener.accept()
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nOK")
        connection.close()


def ask_docker(path):
    daemon = socket.socket(socket.AF_UNIX)
    daemon.connect(path)
    daemon.sendall(b"GET /_ping HTTP/1.1\r\nHost: docker\r\n\r\n")
    assert daemon.recv(4096).startswith(b"HTTP/1.1 200")


def set_uid(path):
    os.umask(0)
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o4755))


def processes(count):
    ours, theirs = os.pipe()
    for _ in range(int(count)):
        if os.fork() == 0:
            os.close(theirs)
            os.read(ours, 1)
            os._exit(0)
    time.sleep(HOLD)


def memory_of(mebibytes):
    taken = bytearray(int(mebibytes) << 20)
    for page in range(0, len(taken), 4096):
        taken[page] = 1
    time.sleep(HOLD)


def swap(one, other):
    """Exchanges two directories for ever, and removes what somebody made in either."""
    here, exchange = -100, 2
    paths = one.encode(), other.encode()
    while True:
        for _ in range(64):
            libc.syscall(316, here, paths[0], here, paths[1], exchange)
        for path in one, other:
            try:
                os.rmdir(path + "/hooks")
            except OSError:
                pass


def queue_input(_):
    for byte in b"touch":
        fcntl.ioctl(0, termios.TIOCSTI, bytes([byte]))


try:
    globals()[sys.argv[1]](*sys.argv[2:])
    print("ESCAPED")
except Exception as error:
    print("refused:", error, file=sys.stderr)
    sys.exit(1)
