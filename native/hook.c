/*
 * hook AGENT LIMIT_MS STATE_ROOT PLACE PROGRAM ARGUMENTS...
 *
 * Sends the event on stdin to the server of Haft, and prints its answer. Starts in a millisecond, where Node needs a
 * hundred. The protocol is in src/server/hook-socket.ts; this file does not look into the event.
 *
 * PLACE: the name of a state folder below STATE_ROOT, or `:VARIABLE`: the workspace that the variable names or is
 * above this folder, as `projectOf` in src/cli/commands/hook.ts finds it. It must give the same folder as that, so what
 * is unusual goes to PROGRAM.
 *
 * If no server of that workspace listens, becomes PROGRAM (`haft hook`), which starts one. The event is then still on
 * its stdin. What goes wrong later denies: exit code 2, with one line on stderr.
 */

#include "system.h"

#if defined(__x86_64__)

enum {
  CALL_READ = 0, CALL_WRITE = 1, CALL_CLOSE = 3, CALL_LSEEK = 8, CALL_SOCKET = 41, CALL_CONNECT = 42, CALL_SENDTO = 44,
  CALL_EXECVE = 59, CALL_GETCWD = 79, CALL_CLOCK_GETTIME = 228, CALL_EXIT_GROUP = 231, CALL_OPENAT = 257, CALL_FACCESSAT = 269,
  CALL_PPOLL = 271, CALL_DUP3 = 292, CALL_MEMFD_CREATE = 319, CALL_STATX = 332,
};
#define O_DIRECTORY 0x10000
#define O_NOFOLLOW 0x20000

#else

enum {
  CALL_GETCWD = 17, CALL_DUP3 = 24, CALL_FACCESSAT = 48, CALL_OPENAT = 56, CALL_CLOSE = 57, CALL_LSEEK = 62,
  CALL_READ = 63, CALL_WRITE = 64, CALL_PPOLL = 73, CALL_EXIT_GROUP = 94, CALL_CLOCK_GETTIME = 113, CALL_SOCKET = 198,
  CALL_CONNECT = 203, CALL_SENDTO = 206, CALL_EXECVE = 221, CALL_MEMFD_CREATE = 279, CALL_STATX = 291,
};
#define O_DIRECTORY 0x4000
#define O_NOFOLLOW 0x8000

#endif

#define AT_FDCWD ((Address)-100)
#define O_CLOEXEC 0x80000
#define O_NONBLOCK 0x800
enum { EINTR = 4, EAGAIN = 11 };
enum { CLOCK_MONOTONIC = 1, FAMILY_UNIX = 1, TYPE_STREAM = 1, MEMFD_CLOEXEC = 1, STATX_INODE = 0x100 };
enum { POLL_INPUT = 1, POLL_OUTPUT = 4, MSG_NOSIGNAL = 0x4000 };

enum {
  MAX_EVENT = 8 << 20, /* as MAX_EVENT_BYTES */
  MAX_ANSWER = 1 << 20,
  TOKEN_BYTES = 64,
  MAX_PATH = 4096,
  MAX_VARIABLES = 8192,
  HEAD_BYTES = 24, /* of an answer: "0 0000000000 0000000000\n" */
};

static char event[MAX_EVENT + 1];
static char answer[MAX_ANSWER];
static char place[MAX_PATH + 64]; /* the workspace; empty if the state folder is named */
static char path[2 * MAX_PATH];
static char *variables[MAX_VARIABLES];

static char **program;
static char **environment;
static const char *state_root;
static Word deadline;

static Address length_of(const char *text) {
  Address bytes = 0;
  while (text[bytes] != 0) bytes++;
  return bytes;
}

/* The rest of `text` after `start`, or 0. */
static char *after(char *text, const char *start) {
  for (; *start != 0; text++, start++)
    if (*text != *start) return 0;
  return text;
}

static char *put_text(char *to, const char *text) {
  while (*text != 0) *to++ = *text++;
  *to = 0;
  return to;
}

static char *put_number(char *to, Address number) {
  char digits[20];
  int count = 0;
  do digits[count++] = (char)('0' + number % 10);
  while ((number /= 10) != 0);
  while (count > 0) *to++ = digits[--count];
  *to = 0;
  return to;
}

static void __attribute__((noreturn)) leave(Word code) {
  for (;;) call(CALL_EXIT_GROUP, (Address)code, 0, 0, 0, 0, 0);
}

static void write_all(Address file, const char *text, Address bytes) {
  while (bytes > 0) {
    Word done = call(CALL_WRITE, file, (Address)text, bytes, 0, 0, 0);
    if (done == -EINTR) continue;
    /* Half an answer is none. */
    if (done <= 0) leave(2);
    text += done;
    bytes -= (Address)done;
  }
}

/* Denies. All agents but Copilot know the code, and the installed command line prints what Copilot knows. */
static void __attribute__((noreturn)) refuse(const char *reason) {
  char line[256];
  char *end = put_text(put_text(put_text(line, "Haft: "), reason), " The call is denied.\n");
  write_all(2, line, (Address)(end - line));
  leave(2);
}

/* Becomes PROGRAM, with the same state root: the environment of an agent must not name another one. */
static void __attribute__((noreturn)) start_program(void) {
  static char root[MAX_PATH + 32];
  int count = 0;
  for (char **each = environment; *each != 0; each++) {
    if (count >= MAX_VARIABLES - 2) refuse("The environment is too large.");
    if (!after(*each, "HAFT_STATE_DIR=")) variables[count++] = *each;
  }
  put_text(put_text(root, "HAFT_STATE_DIR="), state_root);
  variables[count] = root;
  call(CALL_EXECVE, (Address)program[0], (Address)program, (Address)variables, 0, 0, 0);
  refuse("The server does not answer, and its program does not start.");
}

static Word now(void) {
  Word time[2];
  call(CALL_CLOCK_GETTIME, CLOCK_MONOTONIC, (Address)time, 0, 0, 0, 0);
  return time[0] * 1000 + time[1] / 1000000;
}

static Word time_left(void) {
  Word left = deadline - now();
  return left < 0 ? 0 : left;
}

/* Until it can be read or written, has an error, or is closed. */
static void wait_for(Word file, short events, const char *late) {
  struct {
    int file;
    short events, ready;
  } poll = {(int)file, events, 0};
  for (;;) {
    Word left = time_left();
    Word time[2] = {left / 1000, left % 1000 * 1000000};
    Word ready = call(CALL_PPOLL, (Address)&poll, 1, (Address)time, 0, 0, 0);
    if (ready == -EINTR) continue;
    if (ready == 0) refuse(late);
    return;
  }
}

/* Less than `bytes` only at the end. */
static Address read_all(Word file, char *to, Address bytes, const char *late, const char *failed) {
  Address count = 0;
  while (count < bytes) {
    wait_for(file, POLL_INPUT, late);
    Word got = call(CALL_READ, (Address)file, (Address)(to + count), bytes - count, 0, 0, 0);
    if (got == -EINTR || got == -EAGAIN) continue;
    if (got < 0) refuse(failed);
    if (got == 0) break;
    count += (Address)got;
  }
  return count;
}

/* 0: the server is gone. It decides nothing before it has the whole event. */
static int send_all(Word server, const char *from, Address bytes) {
  while (bytes > 0) {
    wait_for(server, POLL_OUTPUT, "Haft did not read the event in time.");
    Word done = call(CALL_SENDTO, (Address)server, (Address)from, bytes, MSG_NOSIGNAL, 0, 0);
    if (done == -EINTR || done == -EAGAIN) continue;
    if (done <= 0) return 0;
    from += done;
    bytes -= (Address)done;
  }
  return 1;
}

/* An absolute path that is written in the one way in which Node writes it. */
static int is_plain(const char *given) {
  if (given[0] != '/' || length_of(given) >= MAX_PATH) return 0;
  if (given[1] == 0) return 1;
  for (const char *at = given; *at != 0; at++) {
    if (*at != '/') continue;
    const char *name = at + 1;
    if (*name == '/' || *name == 0) return 0;
    if (*name == '.' && name[1] == '.') name++;
    if (*name == '.' && (name[1] == '/' || name[1] == 0)) return 0;
  }
  return 1;
}

static const char *const MARKS[] = {"haft.config.yml", "haft.config.yaml", "haft.config.json", ".haft", ".git"};

/* Whether the folder with the first `bytes` of the path has one of the marks. */
static int has_mark(Address bytes) {
  for (Address i = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
    for (Address at = 0; at < bytes; at++) path[at] = place[at];
    path[bytes] = '/';
    put_text(path + bytes + 1, MARKS[i]);
    if (call(CALL_FACCESSAT, AT_FDCWD, (Address)path, 0, 0, 0, 0) == 0) return 1;
  }
  return 0;
}

/* Finds the workspace, and the link that its server has made to its state folder. */
static void find_state(char *variable) {
  const char *named = 0;
  for (char **each = environment; *variable != 0 && *each != 0 && !named; each++) {
    char *rest = after(*each, variable);
    if (rest && *rest == '=') named = rest + 1;
  }
  if (named && *named == '/') {
    if (!is_plain(named)) start_program();
    put_text(place, named);
  } else if (call(CALL_GETCWD, (Address)place, MAX_PATH, 0, 0, 0, 0) < 0 || !is_plain(place)) start_program();
  for (Address end = length_of(place);;) {
    if (end == 1) end = 0;
    if (has_mark(end)) {
      place[end == 0 ? 1 : end] = 0;
      break;
    }
    /* None: the folder itself. */
    if (end == 0) break;
    while (place[--end] != '/');
  }
  static struct {
    unsigned mask;
    char between[0x1c];
    Address inode;
    char later[0x88 - 0x28];
    unsigned device_major, device_minor;
    char after[0x100 - 0x90];
  } info;
  if (call(CALL_STATX, AT_FDCWD, (Address)place, 0, STATX_INODE, (Address)&info, 0) < 0) start_program();
  Address major = info.device_major, minor = info.device_minor;
  Address device = (major & 0xfffff000) << 32 | (major & 0xfff) << 8 | (minor & 0xffffff00) << 12 | (minor & 0xff);
  char *end = put_text(put_text(path, state_root), "/hooks/");
  end = put_number(end, device);
  *end++ = '-';
  put_number(end, info.inode);
}

/* The descriptor of a connection to the server, and its token. */
static Word connect_to_server(char *state, char *token) {
  if (length_of(state_root) >= MAX_PATH || length_of(state) >= 256) refuse("The command line is not valid.");
  if (state[0] == ':') find_state(state + 1);
  else put_text(put_text(put_text(path, state_root), "/"), state);
  Word folder = call(CALL_OPENAT, AT_FDCWD, (Address)path, O_DIRECTORY | O_CLOEXEC, 0, 0, 0);
  if (folder < 0) start_program();
  Word file = call(CALL_OPENAT, (Address)folder, (Address) "hook.token", O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0, 0, 0);
  if (file < 0) start_program();
  Word got = call(CALL_READ, (Address)file, (Address)token, TOKEN_BYTES, 0, 0, 0);
  call(CALL_CLOSE, (Address)file, 0, 0, 0, 0, 0);
  if (got != TOKEN_BYTES) start_program();
  /* Also if the path of the folder is too long for an address. */
  static struct {
    unsigned short family;
    char name[108];
  } address;
  address.family = FAMILY_UNIX;
  put_text(put_number(put_text(address.name, "/proc/self/fd/"), (Address)folder), "/hook.sock");
  Word server = call(CALL_SOCKET, FAMILY_UNIX, TYPE_STREAM | O_CLOEXEC | O_NONBLOCK, 0, 0, 0, 0);
  if (server < 0) start_program();
  if (call(CALL_CONNECT, (Address)server, (Address)&address, sizeof address, 0, 0, 0) < 0) start_program();
  return server;
}

/* Ten digits. */
static Address read_length(const char *from) {
  Address length = 0;
  for (int i = 0; i < 10; i++) {
    if (from[i] < '0' || from[i] > '9') refuse("The answer cannot be read.");
    length = length * 10 + (Address)(from[i] - '0');
  }
  return length;
}

/* The server is gone, or of another workspace: PROGRAM gets the event again. */
static void __attribute__((noreturn)) give_back(Address bytes) {
  Word file = call(CALL_MEMFD_CREATE, (Address) "event", MEMFD_CLOEXEC, 0, 0, 0, 0);
  if (file < 0) refuse("The event cannot be kept.");
  write_all((Address)file, event, bytes);
  call(CALL_LSEEK, (Address)file, 0, 0, 0, 0, 0);
  if (call(CALL_DUP3, (Address)file, 0, 0, 0, 0, 0) < 0) refuse("The event cannot be kept.");
  start_program();
}

/* `stack` holds the number of arguments, the arguments, a zero and the environment. */
__attribute__((used, noreturn)) void begin(Address *stack) {
  Address count = stack[0];
  char **arguments = (char **)(stack + 1);
  environment = arguments + count + 1;
  if (count < 6) refuse("The command line is not whole.");
  state_root = arguments[3];
  program = arguments + 5;
  Word limit = 0;
  for (char *at = arguments[2]; *at >= '0' && *at <= '9' && limit < 10000000; at++) limit = limit * 10 + (*at - '0');
  deadline = now() + limit;
  if (length_of(arguments[1]) > 16) refuse("The command line is not valid.");

  char token[TOKEN_BYTES + 1];
  token[TOKEN_BYTES] = 0;
  Word server = connect_to_server(arguments[4], token);
  Address bytes = read_all(0, event, sizeof event, "The event did not come in time.", "The event cannot be read.");
  if (bytes > MAX_EVENT) refuse("The event is too large.");

  char head[192];
  char *end = put_text(put_text(put_text(head, "haft-hook 1 "), token), " ");
  end = put_text(put_text(end, arguments[1]), " ");
  end = put_text(put_number(end, (Address)time_left()), " ");
  end = put_text(put_number(end, bytes), " ");
  end = put_text(put_number(end, length_of(place)), "\n");
  int is_sent = send_all(server, head, (Address)(end - head)) && send_all(server, place, length_of(place)) &&
                send_all(server, event, bytes);
  if (!is_sent) give_back(bytes);

  static const char cut[] = "Haft ended before it answered.";
  Address got = read_all(server, answer, sizeof answer, "Haft did not answer in time.", cut);
  if (got < HEAD_BYTES) refuse(cut);
  if (answer[1] != ' ' || answer[12] != ' ' || answer[23] != '\n') refuse("The answer cannot be read.");
  Address out = read_length(answer + 2), error = read_length(answer + 13);
  if (got != HEAD_BYTES + out + error) refuse(cut);
  if (answer[0] == '3') give_back(bytes);
  if (answer[0] != '0' && answer[0] != '2') refuse("The answer cannot be read.");
  write_all(1, answer + HEAD_BYTES, out);
  write_all(2, answer + HEAD_BYTES + out, error);
  leave(answer[0] - '0');
}
