/*
 * launch TABLE PROGRAM ARGUMENTS...
 *
 * Runs the system calls that TABLE lists, then becomes PROGRAM. The table restricts this process (Landlock, seccomp,
 * namespaces, limits), and PROGRAM inherits the restrictions. All policy is in the program that writes the table
 * (src/io/sandbox/call-table.ts). This file only executes it: no libc, no allocation, no parsing.
 *
 * If a required call fails, PROGRAM does not start: exit code 125 and one line on stderr.
 */

#include "system.h"

/* One system call of the table: 72 bytes. */
struct Entry {
  Word number; /* or one of the ENTRY_ values below */
  Address arguments[6];
  Address store; /* where the result goes as a 32-bit number; 0: nowhere */
  Word on_error; /* negative: stop. Otherwise: skip that many entries and continue. */
};

enum {
  ENTRY_EXECUTE = -1,         /* become PROGRAM */
  ENTRY_SUPERVISE = -2,       /* fork: the child continues, this process waits for it and ends like it */
  ENTRY_SUPERVISE_ALL = -3,   /* the same, and kills every process that it may signal when the child has ended */
  ENTRY_SUPERVISE_REPORT = -4, /* like SUPERVISE, and reports what the child was refused: see struct Watch */
};

/* The table is mapped here, so its author knows the address of every byte in it. Below 2^39 for small arm64 kernels. */
#define TABLE_ADDRESS 0x1000000000UL

#define AT_FDCWD -100
#define O_CLOEXEC 0x80000
#define SEEK_END 2
#define PROT_READ_WRITE 3
#define MAP_PRIVATE_FIXED_NOREPLACE 0x100002
#define SIG_BLOCK 0
#define SIG_SETMASK 2
#define SIGNAL_SET_BYTES 8
#define WNOHANG 1
#define PR_SET_DUMPABLE 4
#define EVERY_PROCESS ((Address)-1)
#define NOT_CONFINED 125

enum { SIGQUIT = 3, SIGKILL = 9, SIGTERM = 15, SIGCHLD = 17 };
enum { EPERM = 1, ENOENT = 2, EACCES = 13, EFAULT = 14 };

#if defined(__x86_64__)

enum {
  CALL_READ = 0, CALL_WRITE = 1, CALL_CLOSE = 3, CALL_LSEEK = 8, CALL_MMAP = 9, CALL_RT_SIGPROCMASK = 14,
  CALL_IOCTL = 16, CALL_GETPID = 39, CALL_RECVMSG = 47, CALL_CLONE = 56, CALL_EXECVE = 59, CALL_WAIT4 = 61,
  CALL_KILL = 62, CALL_RT_SIGTIMEDWAIT = 128, CALL_PRCTL = 157, CALL_EXIT_GROUP = 231, CALL_OPENAT = 257,
  CALL_PPOLL = 271, CALL_SIGNALFD4 = 289, CALL_EVENTFD2 = 290, CALL_PROCESS_VM_READV = 310, CALL_STATX = 332,
};
#define O_NOFOLLOW 0x20000

#else

enum {
  CALL_EVENTFD2 = 19, CALL_IOCTL = 29, CALL_OPENAT = 56, CALL_CLOSE = 57, CALL_LSEEK = 62, CALL_READ = 63,
  CALL_WRITE = 64, CALL_PPOLL = 73, CALL_SIGNALFD4 = 74, CALL_EXIT_GROUP = 94, CALL_KILL = 129,
  CALL_RT_SIGPROCMASK = 135, CALL_RT_SIGTIMEDWAIT = 137, CALL_PRCTL = 167, CALL_GETPID = 172, CALL_RECVMSG = 212,
  CALL_CLONE = 220, CALL_EXECVE = 221, CALL_MMAP = 222, CALL_WAIT4 = 260, CALL_PROCESS_VM_READV = 270, CALL_STATX = 291,
};
#define O_NOFOLLOW 0x8000

#endif

static void __attribute__((noreturn)) leave(Word code) {
  for (;;) call(CALL_EXIT_GROUP, (Address)code, 0, 0, 0, 0, 0);
}

static void put_digits(char *last, Word value, int count) {
  for (; count > 0; count--, last--, value /= 10) *last = (char)('0' + value % 10);
}

/* Says which entry failed with which error. The text is fixed, so nothing is formatted. */
static void __attribute__((noreturn)) refuse(Word entry, Word error) {
  static char message[] = "haft-launch: cannot confine the command (entry 000000, errno 000)\n";
  put_digits(message + 52, entry, 6);
  put_digits(message + 63, -error, 3);
  call(CALL_WRITE, 2, (Address)message, sizeof message - 1, 0, 0, 0);
  leave(NOT_CONFINED);
}

/* What `refuse` prints for errors outside the table. */
enum { CANNOT_READ_TABLE = 900000, CANNOT_FORK = 900001, CANNOT_EXECUTE = 900002 };

/* Ends with the exit code or the signal of the child. Process 1 of a namespace cannot signal itself: 128 + signal. */
static void __attribute__((noreturn)) end_like(int status) {
  int signal = status & 0x7f;
  if (signal == 0) leave((status >> 8) & 0xff);
  Address all = ~0UL;
  Address none = 0;
  /* The child has already written its core file, if it writes one. */
  call(CALL_PRCTL, PR_SET_DUMPABLE, 0, 0, 0, 0, 0);
  call(CALL_RT_SIGPROCMASK, SIG_SETMASK, (Address)&none, (Address)&all, SIGNAL_SET_BYTES, 0, 0);
  call(CALL_KILL, (Address)call(CALL_GETPID, 0, 0, 0, 0, 0, 0), (Address)signal, 0, 0, 0, 0);
  leave(128 + signal);
}

/*
 * The report: what the child and its processes were refused. This process is outside of their namespace of processes,
 * so they can neither see nor signal it, and only it has the descriptors.
 */

/* The arguments of ENTRY_SUPERVISE_REPORT. */
struct Watch {
  Address events;  /* inotify: hidden files and folders */
  Address target;  /* the file of the report */
  Address channel; /* a socket that brings the descriptor of the filter; 0: blocked calls are not reported */
  Address proc;    /* /proc as it was outside, which has the numbers that the filter reports */
  const struct Action *actions;
  Address count;
};

/* What to do with a call that the filter passes on. Calls that are not listed are refused with EPERM. */
struct Action {
  unsigned number;
  unsigned what;
};
enum { ACT_SOCKET = 1, ACT_ADDRESS = 2, ACT_SIGNAL = 3, ACT_PATH = 4, ACT_PATHS = 5, ACT_PATH_AT = 6, ACT_PATHS_AT = 7 };

/* The report is a list of these, each followed by `bytes` bytes. The last one has the kind RECORD_END. */
struct Record {
  unsigned kind, number, count, bytes;
};
enum {
  RECORD_END = 0, RECORD_EVENTS = 1, RECORD_CALL = 2, RECORD_FAMILY = 3, RECORD_SOCKET = 4, RECORD_SIGNAL = 5,
  RECORD_MOVE = 6, RECORD_NETWORK = 7, RECORD_MORE = 8,
};

enum { MAX_NOTES = 256, NOTE_BYTES = 240, PATH_BYTES = 4096 };
static struct Note {
  struct Record head;
  char text[NOTE_BYTES];
} notes[MAX_NOTES];
static unsigned note_count;

static int is_same(const char *one, const char *other) {
  for (unsigned i = 0; i < NOTE_BYTES; i++) {
    if (one[i] != other[i]) return 0;
    if (one[i] == 0) return 1;
  }
  return 1;
}

/* Counts the same refusal once. The last note stands for all that have no place. `text` has NOTE_BYTES. */
static void note(unsigned kind, unsigned number, const char *text) {
  unsigned at = 0;
  while (at < note_count && (notes[at].head.kind != kind || notes[at].head.number != number || !is_same(notes[at].text, text)))
    at++;
  if (at >= MAX_NOTES - 1) {
    at = MAX_NOTES - 1;
    kind = RECORD_MORE;
    number = 0;
    text = "";
  }
  struct Note *place = &notes[at];
  if (at >= note_count) {
    note_count = at + 1;
    place->head.kind = kind;
    place->head.number = number;
    unsigned length = 0;
    for (; length < NOTE_BYTES - 1 && text[length] != 0; length++) place->text[length] = text[length];
    place->head.bytes = length;
  }
  if (place->head.count < ~0U) place->head.count++;
}

static const char NO_TEXT[NOTE_BYTES];

struct Part {
  const void *start;
  Address bytes;
};

/* Reads the memory of a process of the child. Less than `bytes` if the rest is not there. */
static Word read_memory(Address process, Address from, void *to, Address bytes) {
  struct Part local = {to, bytes}, remote = {(void *)from, bytes};
  return call(CALL_PROCESS_VM_READV, process, (Address)&local, 1, (Address)&remote, 1, 0);
}

/* Returns the place after the digits. */
static char *put_number(char *to, Address number) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0) *to++ = digits[--count];
  return to;
}

static char *put_text(char *to, const char *text) {
  while (*text != 0) *to++ = *text++;
  *to = 0;
  return to;
}

#define O_PATH 0x200000
#define AT_EMPTY_PATH 0x1000
#define STATX_MOUNT 0x1000

/* The mount that a descriptor is in, or 0. Closes it. */
static Address mount_of(Word file) {
  static struct {
    unsigned mask;
    char between[0x8c];
    Address mount;
    char after[0x100 - 0x98];
  } info;
  if (file < 0) return 0;
  info.mask = 0;
  call(CALL_STATX, (Address)file, (Address) "", AT_EMPTY_PATH, STATX_MOUNT, (Address)&info, 0);
  call(CALL_CLOSE, (Address)file, 0, 0, 0, 0, 0);
  return (info.mask & STATX_MOUNT) != 0 ? info.mount : 0;
}

/*
 * The mount of the folder that a path is in, as the process sees it; 0 if that cannot be said. `*is_mount`: something
 * else is mounted at the path itself. This process is in the same namespace of mounts.
 */
static Address mount_around(Address process, Address proc, Word folder, char *path, int *is_mount) {
  char name[64];
  Word base = AT_FDCWD;
  if (path[0] != '/') {
    char *end = put_number(name, process);
    if (folder == AT_FDCWD) put_text(end, "/cwd");
    else *put_number(put_text(end, "/fd/"), (Address)folder) = 0;
    base = call(CALL_OPENAT, proc, (Address)name, O_PATH | O_CLOEXEC, 0, 0, 0);
    if (base < 0) return 0;
  }
  Address itself = mount_of(call(CALL_OPENAT, (Address)base, (Address)path, O_PATH | O_CLOEXEC | O_NOFOLLOW, 0, 0, 0));
  Word last = 0;
  while (path[last] != 0) last++;
  while (last > 0 && path[last - 1] == '/') last--;
  while (last > 0 && path[last - 1] != '/') last--;
  char kept = path[last];
  path[last] = 0;
  const char *around = last == 0 ? "." : path;
  Address mount = mount_of(call(CALL_OPENAT, (Address)base, (Address)around, O_PATH | O_CLOEXEC, 0, 0, 0));
  path[last] = kept;
  if (base >= 0) call(CALL_CLOSE, (Address)base, 0, 0, 0, 0, 0);
  if (itself != 0 && itself != mount) *is_mount = 1;
  return mount;
}

/* A call of the child that waits for an answer. */
struct Question {
  Address id;
  unsigned process, flags;
  int number;
  unsigned architecture;
  Address instruction;
  Address arguments[6];
};

struct Answer {
  Address id;
  Word value;
  int error;
  unsigned flags;
};

#define QUESTION_RECEIVE 0xc0502100UL
#define QUESTION_ANSWER 0xc0182101UL
#define QUESTION_GIVE 0x40182103UL
enum { CONTINUE_CALL = 1, FAMILY_UNIX = 1, TYPE_MASK = 0xf, TYPE_STREAM = 1, TYPE_SEQUENCE = 5, NON_BLOCKING = 0x800 };

/*
 * A stream socket of the family UNIX becomes a descriptor that is no socket: nothing can connect it, whatever the
 * program changes later. What it would connect to is only known then. 0 or above: the new descriptor.
 */
static Word give_no_socket(Address listener, const struct Question *asked) {
  Word empty = call(CALL_EVENTFD2, 0, O_CLOEXEC | NON_BLOCKING, 0, 0, 0, 0);
  if (empty < 0) return -EACCES;
  struct {
    Address id;
    unsigned flags, source, target, target_flags;
  } give = {asked->id, 0, (unsigned)empty, 0, (unsigned)asked->arguments[1] & O_CLOEXEC};
  Word given = call(CALL_IOCTL, listener, QUESTION_GIVE, (Address)&give, 0, 0, 0);
  call(CALL_CLOSE, (Address)empty, 0, 0, 0, 0, 0);
  return given;
}

/* The address of connect or bind. Only UNIX sockets are refused here: the network is the one of the namespace. */
static int check_address(const struct Question *asked) {
  char address[2 + NOTE_BYTES];
  for (unsigned i = 0; i < sizeof address; i++) address[i] = 0;
  Address bytes = asked->arguments[2] & 0xffffffff;
  if (bytes > 110) bytes = 110;
  Word got = read_memory(asked->process, asked->arguments[1], address, bytes);
  if (got < 2) {
    note(RECORD_SOCKET, 0, NO_TEXT);
    return EFAULT;
  }
  if (address[0] != FAMILY_UNIX || address[1] != 0) return 0;
  /* The name of an abstract socket begins with a zero. */
  if (got > 2 && address[2] == 0) address[2] = '@';
  note(RECORD_SOCKET, 0, address + 2);
  return ENOENT;
}

/* This process has the /proc of the namespace too, so the numbers are those that the program uses. */
static int check_signal(Address target) {
  int number = (int)target;
  if (number == 0) return 0;
  char path[32];
  *put_number(put_text(path, "/proc/"), (Address)(number < 0 ? -(Word)number : number)) = 0;
  Word found = call(CALL_OPENAT, (Address)AT_FDCWD, (Address)path, O_PATH | O_CLOEXEC, 0, 0, 0);
  if (found >= 0) call(CALL_CLOSE, (Address)found, 0, 0, 0, 0, 0);
  int is_outside = number == 1 || number == -1;
  if (is_outside || found < 0) note(RECORD_SIGNAL, (unsigned)number, NO_TEXT);
  return is_outside ? EPERM : 0;
}

/* The kernel refuses to move what is mounted, and between mounts. It decides: this only says that it will. */
static void check_paths(const struct Question *asked, Address proc, unsigned what) {
  static char path[PATH_BYTES + NOTE_BYTES];
  const Address *a = asked->arguments;
  int is_at = what == ACT_PATH_AT || what == ACT_PATHS_AT, is_mount = 0;
  int count = what == ACT_PATHS || what == ACT_PATHS_AT ? 2 : 1;
  Address mounts[2] = {0, 0};
  for (int i = 0; i < count; i++) {
    Word got = read_memory(asked->process, is_at ? a[2 * i + 1] : a[i], path, PATH_BYTES);
    for (Word at = got < 0 ? 0 : got; at < (Word)sizeof path; at++) path[at] = 0;
    if (path[0] == 0) return;
    mounts[i] = mount_around(asked->process, proc, is_at ? (Word)(int)a[2 * i] : AT_FDCWD, path, &is_mount);
    if (is_mount) break;
    if (mounts[i] == 0) return;
  }
  if (is_mount || (count == 2 && mounts[0] != mounts[1])) note(RECORD_MOVE, (unsigned)asked->number, path);
}

/* 0: the kernel executes the call. Negative: the program gets that error. */
static Word decide(const struct Watch *watch, Address listener, const struct Question *asked, Word *value) {
  unsigned what = 0;
  for (Address i = 0; i < watch->count; i++)
    if (watch->actions[i].number == (unsigned)asked->number) what = watch->actions[i].what;
  unsigned family = (unsigned)asked->arguments[0], type = (unsigned)asked->arguments[1] & TYPE_MASK;
  switch (what) {
    case ACT_SOCKET:
      if (family == FAMILY_UNIX && (type == TYPE_STREAM || type == TYPE_SEQUENCE)) {
        *value = give_no_socket(listener, asked);
        return *value < 0 ? -EACCES : 1;
      }
      note(RECORD_FAMILY, family, NO_TEXT);
      return -EACCES;
    case ACT_ADDRESS:
      return -check_address(asked);
    case ACT_SIGNAL:
      return -check_signal(asked->arguments[0]);
    case 0:
      note(RECORD_CALL, (unsigned)asked->number, NO_TEXT);
      return -EPERM;
    default:
      check_paths(asked, watch->proc, what);
      return 0;
  }
}

static void answer(const struct Watch *watch, Address listener) {
  struct Question asked;
  for (unsigned i = 0; i < sizeof asked; i++) ((volatile char *)&asked)[i] = 0;
  /* Fails if the process was killed meanwhile. */
  if (call(CALL_IOCTL, listener, QUESTION_RECEIVE, (Address)&asked, 0, 0, 0) < 0) return;
  Word value = 0;
  Word decided = decide(watch, listener, &asked, &value);
  struct Answer reply = {asked.id, value, decided < 0 ? (int)decided : 0, decided == 0 ? CONTINUE_CALL : 0};
  call(CALL_IOCTL, listener, QUESTION_ANSWER, (Address)&reply, 0, 0, 0);
}

#define MESSAGE_CLOSE_ON_EXECUTE 0x40000000

/* The descriptor that the child sends, or a negative number. */
static Word receive_descriptor(Address channel) {
  char byte;
  struct Part part = {&byte, 1};
  struct {
    Address bytes;
    int level, type, descriptor, padding;
  } control;
  struct {
    void *name;
    Address name_bytes;
    struct Part *parts;
    Address part_count;
    void *control;
    Address control_bytes;
    Address flags;
  } message = {0, 0, &part, 1, &control, sizeof control, 0};
  control.descriptor = -1;
  if (call(CALL_RECVMSG, channel, (Address)&message, MESSAGE_CLOSE_ON_EXECUTE, 0, 0, 0) < 0) return -1;
  return message.control_bytes == 0 ? -1 : control.descriptor;
}

struct Poll {
  int file;
  short events, ready;
};
enum { POLL_INPUT = 1 };

/* The next signal. Until then answers the calls of the child. */
static Word wait_and_answer(const struct Watch *watch, const Address *all) {
  static Word signals = -1, listener = -1;
  if (signals < 0) signals = call(CALL_SIGNALFD4, (Address)-1, (Address)all, SIGNAL_SET_BYTES, O_CLOEXEC, 0, 0);
  for (;;) {
    struct Poll polls[2] = {{(int)signals, POLL_INPUT, 0}, {(int)(listener < 0 ? (Word)watch->channel : listener), POLL_INPUT, 0}};
    /* The filter has no process any more. */
    if (listener == -2) polls[1].file = -1;
    call(CALL_PPOLL, (Address)polls, 2, 0, 0, SIGNAL_SET_BYTES, 0);
    if ((polls[0].ready & POLL_INPUT) != 0) {
      int signal[32];
      if (call(CALL_READ, (Address)signals, (Address)signal, sizeof signal, 0, 0, 0) > 0) return signal[0];
    }
    if ((polls[1].ready & POLL_INPUT) == 0) {
      if (polls[1].ready != 0) listener = -2;
    } else if (listener >= 0) answer(watch, (Address)listener);
    else if ((listener = receive_descriptor(watch->channel)) < 0) listener = -2;
  }
}

static void write_record(Address target, unsigned kind, const void *text, Address bytes) {
  struct Record head = {kind, 0, 1, (unsigned)bytes};
  call(CALL_WRITE, target, (Address)&head, sizeof head, 0, 0, 0);
  call(CALL_WRITE, target, (Address)text, bytes, 0, 0, 0);
}

/* What was counted in the network of the child, which is the one of this process. */
static void copy_counters(const struct Watch *watch, const char *path) {
  static char part[4096];
  Word file = call(CALL_OPENAT, watch->proc, (Address)path, O_CLOEXEC, 0, 0, 0);
  if (file < 0) return;
  for (Word bytes; (bytes = call(CALL_READ, (Address)file, (Address)part, sizeof part, 0, 0, 0)) > 0;)
    write_record(watch->target, RECORD_NETWORK, part, (Address)bytes);
  call(CALL_CLOSE, (Address)file, 0, 0, 0, 0, 0);
}

/* The last record tells a reader that nothing is missing. The events must not block. */
static void write_report(const struct Watch *watch) {
  static char part[4096];
  for (unsigned i = 0; i < note_count; i++)
    call(CALL_WRITE, watch->target, (Address)&notes[i], sizeof(struct Record) + notes[i].head.bytes, 0, 0, 0);
  if (watch->channel != 0) {
    copy_counters(watch, "self/net/snmp");
    copy_counters(watch, "self/net/snmp6");
  }
  for (Word bytes; (bytes = call(CALL_READ, watch->events, (Address)part, sizeof part, 0, 0, 0)) > 0;)
    write_record(watch->target, RECORD_EVENTS, part, (Address)bytes);
  write_record(watch->target, RECORD_END, "", 0);
}

/*
 * Forks. The child returns and runs the rest of the table. The parent stays until the child has ended.
 * SIGTERM is passed on, SIGQUIT kills. Other signals do nothing here: a terminal sends them to the child as well.
 *
 * `reach` is the child, or every process. "Every process" is only safe if the kernel limits whom this process may
 * signal: in a Landlock domain with scoped signals, or as process 1 of a process namespace.
 * `watch`: what the report is made from, or 0.
 */
static void supervise(int everything, const struct Watch *watch) {
  Address all = ~0UL;
  Address before = 0;
  call(CALL_RT_SIGPROCMASK, SIG_BLOCK, (Address)&all, (Address)&before, SIGNAL_SET_BYTES, 0, 0);
  Word child = call(CALL_CLONE, SIGCHLD, 0, 0, 0, 0, 0);
  if (child < 0) refuse(CANNOT_FORK, child);
  if (child == 0) {
    call(CALL_RT_SIGPROCMASK, SIG_SETMASK, (Address)&before, 0, SIGNAL_SET_BYTES, 0, 0);
    return;
  }
  Address reach = everything ? EVERY_PROCESS : (Address)child;
  for (;;) {
    Word signal = watch && watch->channel != 0
                      ? wait_and_answer(watch, &all)
                      : call(CALL_RT_SIGTIMEDWAIT, (Address)&all, 0, 0, SIGNAL_SET_BYTES, 0, 0);
    if (signal == SIGTERM) call(CALL_KILL, reach, SIGTERM, 0, 0, 0, 0);
    if (signal == SIGQUIT) call(CALL_KILL, reach, SIGKILL, 0, 0, 0, 0);
    for (;;) {
      int status = 0;
      Word ended = call(CALL_WAIT4, (Address)-1, (Address)&status, WNOHANG, 0, 0, 0);
      if (ended <= 0) break;
      if (ended != child) continue;
      if (everything) call(CALL_KILL, EVERY_PROCESS, SIGKILL, 0, 0, 0, 0);
      if (watch) write_report(watch);
      end_like(status);
    }
  }
}

static void map_table(const char *path) {
  Word file = call(CALL_OPENAT, (Address)AT_FDCWD, (Address)path, O_CLOEXEC, 0, 0, 0);
  if (file < 0) refuse(CANNOT_READ_TABLE, file);
  Word size = call(CALL_LSEEK, (Address)file, 0, SEEK_END, 0, 0, 0);
  if (size < (Word)sizeof(struct Entry)) refuse(CANNOT_READ_TABLE, 0);
  Word address = call(CALL_MMAP, TABLE_ADDRESS, (Address)size, PROT_READ_WRITE, MAP_PRIVATE_FIXED_NOREPLACE,
                      (Address)file, 0);
  if (address != (Word)TABLE_ADDRESS) refuse(CANNOT_READ_TABLE, address < 0 ? address : 0);
  call(CALL_CLOSE, (Address)file, 0, 0, 0, 0, 0);
}

/* `stack` holds the number of arguments, the arguments, a zero and the environment. */
__attribute__((used, noreturn)) void begin(Address *stack) {
  Address count = stack[0];
  char **arguments = (char **)(stack + 1);
  char **environment = arguments + count + 1;
  if (count < 3) refuse(CANNOT_READ_TABLE, 0);
  map_table(arguments[1]);
  struct Entry *table = (struct Entry *)TABLE_ADDRESS;
  for (struct Entry *entry = table;; entry++) {
    Address *a = entry->arguments;
    Word result;
    switch (entry->number) {
      case ENTRY_EXECUTE:
        result = call(CALL_EXECVE, (Address)arguments[2], (Address)(arguments + 2), (Address)environment, 0, 0, 0);
        refuse(CANNOT_EXECUTE, result);
      case ENTRY_SUPERVISE:
        supervise(0, 0);
        continue;
      case ENTRY_SUPERVISE_ALL:
        supervise(1, 0);
        continue;
      case ENTRY_SUPERVISE_REPORT:
        supervise(0, (const struct Watch *)a);
        continue;
    }
    result = call(entry->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (entry->store != 0) *(int *)entry->store = (int)result;
    if (result >= 0) continue;
    if (entry->on_error < 0) refuse(entry - table, result);
    entry += entry->on_error;
  }
}
