/*
 * launch TABLE PROGRAM ARGUMENTS...
 *
 * Runs the system calls that TABLE lists, then becomes PROGRAM. The table restricts this process (Landlock, seccomp,
 * namespaces, limits), and PROGRAM inherits the restrictions. All policy is in the program that writes the table
 * (src/io/sandbox/call-table.ts). This file only executes it: no libc, no allocation, no parsing.
 *
 * If a required call fails, PROGRAM does not start: exit code 125 and one line on stderr.
 */

typedef long Word;
typedef unsigned long Address;

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
  ENTRY_SUPERVISE_REPORT = -4, /* like SUPERVISE, then copies what descriptor 0 of the arguments has to descriptor 1 */
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

#if defined(__x86_64__)

enum {
  CALL_READ = 0, CALL_WRITE = 1, CALL_CLOSE = 3, CALL_LSEEK = 8, CALL_MMAP = 9, CALL_RT_SIGPROCMASK = 14, CALL_GETPID = 39,
  CALL_CLONE = 56, CALL_EXECVE = 59, CALL_WAIT4 = 61, CALL_KILL = 62, CALL_RT_SIGTIMEDWAIT = 128, CALL_PRCTL = 157,
  CALL_EXIT_GROUP = 231, CALL_OPENAT = 257,
};

static Word call(Word number, Address a, Address b, Address c, Address d, Address e, Address f) {
  Word result;
  register Address r10 __asm__("r10") = d;
  register Address r8 __asm__("r8") = e;
  register Address r9 __asm__("r9") = f;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                   : "rcx", "r11", "memory");
  return result;
}

/* The kernel puts the arguments on the stack. Calls need a stack that is aligned to 16 bytes. */
__asm__(".globl _start\n_start:\n  mov %rsp, %rdi\n  and $-16, %rsp\n  call launch\n");

#elif defined(__aarch64__)

enum {
  CALL_OPENAT = 56, CALL_CLOSE = 57, CALL_LSEEK = 62, CALL_READ = 63, CALL_WRITE = 64, CALL_EXIT_GROUP = 94,
  CALL_KILL = 129,
  CALL_RT_SIGPROCMASK = 135, CALL_RT_SIGTIMEDWAIT = 137, CALL_PRCTL = 167, CALL_GETPID = 172, CALL_CLONE = 220,
  CALL_EXECVE = 221, CALL_MMAP = 222, CALL_WAIT4 = 260,
};

static Word call(Word number, Address a, Address b, Address c, Address d, Address e, Address f) {
  register Address x8 __asm__("x8") = (Address)number;
  register Address x0 __asm__("x0") = a;
  register Address x1 __asm__("x1") = b;
  register Address x2 __asm__("x2") = c;
  register Address x3 __asm__("x3") = d;
  register Address x4 __asm__("x4") = e;
  register Address x5 __asm__("x5") = f;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return (Word)x0;
}

__asm__(".globl _start\n_start:\n  mov x0, sp\n  bl launch\n");

#else
#error "Only x64 and arm64 are supported."
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

/* Ends with one byte, so a reader knows that nothing is missing. The source must not block. */
static void copy_report(Address source, Address target) {
  static char part[4096];
  for (Word bytes; (bytes = call(CALL_READ, source, (Address)part, sizeof part, 0, 0, 0)) > 0;)
    call(CALL_WRITE, target, (Address)part, (Address)bytes, 0, 0, 0);
  call(CALL_WRITE, target, (Address) "", 1, 0, 0, 0);
}

/*
 * Forks. The child returns and runs the rest of the table. The parent stays until the child has ended.
 * SIGTERM is passed on, SIGQUIT kills. Other signals do nothing here: a terminal sends them to the child as well.
 *
 * `reach` is the child, or every process. "Every process" is only safe if the kernel limits whom this process may
 * signal: in a Landlock domain with scoped signals, or as process 1 of a process namespace.
 * `report` has the two descriptors of ENTRY_SUPERVISE_REPORT, or is 0.
 */
static void supervise(int everything, const Address *report) {
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
    Word signal = call(CALL_RT_SIGTIMEDWAIT, (Address)&all, 0, 0, SIGNAL_SET_BYTES, 0, 0);
    if (signal == SIGTERM) call(CALL_KILL, reach, SIGTERM, 0, 0, 0, 0);
    if (signal == SIGQUIT) call(CALL_KILL, reach, SIGKILL, 0, 0, 0, 0);
    for (;;) {
      int status = 0;
      Word ended = call(CALL_WAIT4, (Address)-1, (Address)&status, WNOHANG, 0, 0, 0);
      if (ended <= 0) break;
      if (ended != child) continue;
      if (everything) call(CALL_KILL, EVERY_PROCESS, SIGKILL, 0, 0, 0, 0);
      if (report) copy_report(report[0], report[1]);
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
__attribute__((used, noreturn)) void launch(Address *stack) {
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
        supervise(0, a);
        continue;
    }
    result = call(entry->number, a[0], a[1], a[2], a[3], a[4], a[5]);
    if (entry->store != 0) *(int *)entry->store = (int)result;
    if (result >= 0) continue;
    if (entry->on_error < 0) refuse(entry - table, result);
    entry += entry->on_error;
  }
}
