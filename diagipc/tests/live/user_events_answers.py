"""The answers of a real kernel to registrations, unregistrations and records of user_events (F-64 to F-66, F-87): one line a question. Runs in
the guest of user_events_vm.py."""
import ctypes
import errno
import fcntl
import os
import struct

FIELDS = " u8 version; u16 event_id; __rel_loc u8[] extension; __rel_loc u8[] payload"
REGISTER, UNREGISTER = 0xC0082A00, 0x40082A02
PAGE, HEAD, NO_INDEX, TAKEN = 4096, 15, 0x7FFFFFFF, "taken"


def record(index, extension, payload, located=None, version=1, more=0):
    """A record of zeros (F-66); `located`: the length of the payload by its location; `more` bytes follow."""
    located = payload if located is None else located
    return struct.pack("<IBHII", index, version, 80, extension << 16 | 4, located << 16 | extension) + bytes(extension + payload + more)


class Kernel:
    def __init__(self, tracefs):
        self.tracefs, self.failures, self.kept = tracefs, 0, []
        # The word whose bits the kernel sets.
        self.enabled = ctypes.c_uint32()
        self.address = ctypes.addressof(self.enabled)
        self.file = self.open()

    def open(self):
        return os.open(self.tracefs + "/user_events_data", os.O_RDWR)

    def answers(self, question, wanted, call, *arguments):
        """Prints what the kernel answers to a call, and returns its result."""
        result, seen = None, TAKEN
        try:
            result = call(*arguments)
        except OSError as error:
            seen = errno.errorcode[error.errno]
        self.failures += seen != wanted
        more = "" if result is None else f", {result}"
        print(f"kernel: {question}: {seen}{more}{'' if seen == wanted else f': FAILED, expected {wanted}'}", flush=True)
        return result

    def same(self, what, is_so):
        self.failures += not is_so
        print(f"kernel: {what}: {'yes' if is_so else 'FAILED, no'}", flush=True)

    def register(self, name, bit=31, size=28, width=4, flags=0, offset=0, address=None, not_zero=None, file=None):
        """Registers a name with its fields; the write index."""
        text = ctypes.create_string_buffer(name) if name is not None else None
        self.kept.append(text)
        reg = struct.pack("<IBBHQQI", size, bit, width, flags, self.address + offset if address is None else address,
                          ctypes.addressof(text) if text else 0, NO_INDEX)
        # Longer than what Python copies, so that the kernel gets this buffer.
        buffer = bytearray(reg.ljust(2 * PAGE, b"\0"))
        if not_zero:
            buffer[not_zero] = 1
        fcntl.ioctl(self.file if file is None else file, REGISTER, buffer, True)
        return struct.unpack_from("<I", buffer, 24)[0]

    def unregister(self, bit=31, size=16, reserved=0, reserved2=0, behind=0):
        fcntl.ioctl(self.file, UNREGISTER, struct.pack("<IBBHQII", size, bit, reserved, reserved2, self.address, behind, 0))

    def drop(self, *bits):
        for bit in bits:
            try:
                self.unregister(bit)
            except OSError:
                pass  # it was refused

    def tries(self, question, wanted, name, **fields):
        """A registration, and its end."""
        self.answers(question, wanted, lambda: self.register(name, **fields))
        self.drop(31)

    def sizes(self):
        name = b"VmSize" + FIELDS.encode()
        for size, not_zero, wanted, question in (
                (28, None, TAKEN, "28"), (32, None, TAKEN, "32, 4 zero bytes after it (P-18)"),
                (32, 28, "E2BIG", "32, the first byte after it not zero"), (32, 31, "E2BIG", "32, the last byte after it not zero"), (28, 28, TAKEN, "28, bytes after it not zero"), (27, None, "EINVAL", "27"),
                (24, None, "EINVAL", "24"), (0, None, "EINVAL", "0"), (PAGE, None, TAKEN, "4096, zero bytes after it"),
                (PAGE + 1, None, "E2BIG", "4097, zero bytes after it")):
            self.tries(f"user_reg of size {question}", wanted, name, size=size, not_zero=not_zero)

    def fields(self):
        name = b"VmBit" + FIELDS.encode()
        self.tries("enable_bit 32 of 4 bytes", "EINVAL", name, bit=32)
        self.tries("enable_size 2", "EINVAL", name, width=2)
        self.tries("enable_addr not aligned", "EINVAL", name, offset=2)
        self.tries("enable_addr where there is no memory", "ENOMEM", name, address=8)
        self.tries("flags 4, which is not known", "EINVAL", name, flags=4)
        self.tries("name_args 0", "EFAULT", None)

    def names(self):
        for question, wanted, name in (
                ("name and fields", TAKEN, b"VmName"), ("a space before the name", "EINVAL", b" VmSpace"),
                ("a space in the name", "EINVAL", b"Vm two"), ("two spaces after the name", TAKEN, b"VmTwo "), ("no name", TAKEN, b""),
                # Flags are after a colon.
                ("a colon in the name", "EINVAL", b"Vm:colon"), ("a colon at its end", "EINVAL", b"Vm:"), ("a slash in the name", TAKEN, b"Vm/slash"), ("a tab in the name", TAKEN, b"Vm\ttab"),
                ("a name in UTF-8", TAKEN, "Vm\u00dc\u8a3a\U0001f600".encode()), ("a name that is not UTF-8", TAKEN, b"Vm\xff\xfe"),
                ("a name of 436 bytes, 512 with fields and NUL (F-65)", TAKEN, 436 * b"n"), ("a name of 437 bytes", "EINVAL", 437 * b"n")):
            self.tries(question, wanted, name + FIELDS.encode())
        self.tries("a name without fields", TAKEN, b"VmBare")

    def indexes(self):
        first, other, third = (name + FIELDS.encode() for name in (b"VmFirst", b"VmOther", b"VmThird"))
        index = self.answers("a name", TAKEN, self.register, first)
        self.same("the same write index", self.answers("the same name on another bit", TAKEN, self.register, first, 29) == index)
        self.same("another write index", self.answers("another name", TAKEN, self.register, other, 28) != index)
        self.answers("another name on a bit that is in use", "EADDRINUSE", self.register, third)
        self.answers("a name that exists, with other fields", "EADDRINUSE", self.register, b"VmFirst u8 version", 26)
        file = self.open()
        known = self.answers("a known name on another descriptor", TAKEN, lambda: self.register(other, 27, file=file))
        self.same("another descriptor counts its write indexes from 0", known == 0)
        os.close(file)
        self.drop(*range(26, 32))

    def unregistrations(self):
        name = b"VmGone" + FIELDS.encode()
        self.answers("user_unreg of what was never registered", "ENOENT", self.unregister)
        self.answers("a name to unregister", TAKEN, self.register, name)
        self.answers("user_unreg of size 15", "EINVAL", lambda: self.unregister(size=15))
        self.answers("user_unreg with a reserved byte", "EINVAL", lambda: self.unregister(reserved=1))
        self.answers("user_unreg with the other reserved field", "EINVAL", lambda: self.unregister(reserved2=1))
        self.answers("user_unreg of size 24, not zero after it", "E2BIG", lambda: self.unregister(size=24, behind=1))
        self.answers("user_unreg of size 16 (F-87)", TAKEN, self.unregister)
        self.answers("the same again", "ENOENT", self.unregister)
        self.answers("the name again", TAKEN, self.register, name)
        self.answers("user_unreg of size 24, zero after it", TAKEN, lambda: self.unregister(size=24))

    def writes(self, question, wanted, data, traced=None):
        """A record, in three parts as the runtime writes it: so many are then in the trace, one if it is taken."""
        self.answers(question, wanted, os.writev, self.file, [data[:4], data[4:HEAD], data[HEAD:]])
        path = self.tracefs + "/trace"
        with open(path, errors="replace", encoding="utf-8") as trace:
            seen = sum("VmRecord:" in line for line in trace)
        with open(path, "w", encoding="utf-8"):
            pass  # empties it
        traced = wanted == TAKEN if traced is None else traced
        if seen != traced:
            self.same(f"{question}: {traced} in the trace, not {seen}", False)

    def enable(self, value):
        with open(self.tracefs + "/events/user_events/VmRecord/enable", "w", encoding="utf-8") as file:
            file.write(value)

    def records(self):
        index = self.answers("a name for records", TAKEN, lambda: self.register(b"VmRecord" + FIELDS.encode(), size=32))
        self.same("enabled before anybody listens: no bit set", not self.enabled.value >> 31)
        self.writes("a record before that", "EBADF", record(index, 0, 8))
        self.enable("1")
        self.same("enabled through tracefs: bit 31 set and no other", self.enabled.value == 1 << 31)
        self.writes("a record (F-66)", TAKEN, record(index, 0, 8))
        self.writes("a record with an extension", TAKEN, record(index, 17, 8))
        self.writes("a record with neither", TAKEN, record(index, 0, 0))
        self.writes("a record cut by one byte", "EINVAL", record(index, 0, 0)[:-1])
        self.writes("a write index alone", "EINVAL", record(index, 0, 0)[:4])
        self.writes("half a write index", "EFAULT", record(index, 0, 0)[:2])
        self.writes("a write index that was not given", "ENOENT", record(index + 1, 0, 0))
        self.writes("a write index of 0xFFFFFFFF", "EINVAL", record(0xFFFFFFFF, 0, 0))
        self.writes("a payload location that ends beyond the record", "EFAULT", record(index, 0, 8, located=9))
        self.writes("version 2", TAKEN, record(index, 0, 8, version=2))
        self.writes("a byte after the payload", TAKEN, record(index, 0, 8, more=1))
        self.writes("a payload of 4000 bytes", TAKEN, record(index, 0, 4000))
        self.writes("a payload of 5000 bytes: beyond one page of the trace", TAKEN, record(index, 0, 5000), traced=0)
        self.writes("a payload of 65535 bytes", TAKEN, record(index, 0, 65535), traced=0)
        self.enable("0")
        self.same("disabled through tracefs: no bit set", self.enabled.value == 0)
        self.writes("a record after that", "EBADF", record(index, 0, 8))
        self.drop(31)


def are_right(tracefs):
    """Whether every answer is the expected one."""
    kernel = Kernel(tracefs)
    for ask in kernel.sizes, kernel.fields, kernel.indexes, kernel.names, kernel.unregistrations, kernel.records:
        ask()
    os.close(kernel.file)
    return not kernel.failures
