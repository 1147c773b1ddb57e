// Why a goal is missed, in one line each: `case: row`. Only rows that miss it on a quiet machine belong here.
const RECORD = "statements, masking, description and hash of the entry share it";
const CLAIMED = "a claim and an end are two commits; the claim is on disk before the tool runs";
const GATE = "about 20 stages, an abort signal, a deadline and a record stand between the call and its tool";
const STARTED = "the store, the configuration and 46 tools are opened for one call";
const GATED = "validation, limits, masking and a record are added to a call that does nothing";
const TRANSPORT = "authentication, limits, checks of the request and the gate are more than a bare route";
const NAMESPACES = "the kernel takes this long to make the namespaces and their mounts";
const INDEX = "stems and words of names, descriptions and parameters are kept for each tool";
const LEXICAL = "words are compared, not meanings; these descriptions share few words with the questions";
const PATHS = "each path is resolved on disk before it is compared with a rule";
const ROWS = "a job is a call: submitting, taking, claiming and ending write its row, and each has an audit entry";
const WORKERS = "two cores carry PostgreSQL, four workers and this program";
const LATENCY = "a submission, a claim and an end are commits one after the other";
const THREAD = "values are copied between two threads, which wake each other twice";
const SHARED = "browser and server share two cores";
const GROUPED = "events within a quarter of a second are one refresh";

export const MISSES = {
  "agent-loop: Haft": "each step passes the gate, is kept in the session and is told to followers",
  "audit: read-only, one after the other": RECORD,
  "audit: read-only, 100 at a time": RECORD,
  "audit: write with an id, one after the other, one sync each": CLAIMED,
  "audit: write with an id, 100 at a time": CLAIMED,
  "cli-start: haft tools list, over a bare Node start": STARTED,
  "cli-start: haft tools call read": STARTED,
  "code: a call in a program, over the gate": THREAD,
  "console: first rows, wall (1000000 calls)": SHARED,
  "console: search, frequent word, wall": "all matches are counted",
  "console: scrolling: longest frame": SHARED,
  "console: call to card, p95 (50 calls)": GROUPED,
  "definitions: Haft, first": "beside the schema, the name, the description and the examples are written",
  "exec: exec of nothing, × spawn of the same shell, wall":
    "the command runs confined, and its output is masked and bounded",
  "gate-concurrent: Haft, the whole gate": GATE,
  "gate-sequential: Haft, the whole gate": GATE,
  "http: Haft, CPU of the server": TRANSPORT,
  'import: import "haft"': "Zod alone takes two thirds of it",
  "http: Haft, wall time of a call": TRANSPORT,
  "install: npm install haft, on disk": "SQLite, the MCP SDK and ripgrep bring programs for this machine",
  "jobs: no-op jobs, of a bare table's throughput": ROWS,
  "jobs: 1,000 submissions at once, of 1,000 bare inserts with one audit entry": ROWS,
  "jobs-scale: postgres: drained by one process, 50 at a time, wall": ROWS,
  "jobs-scale: postgres: the same, four processes over one": WORKERS,
  "jobs-scale: postgres: CPU for each of them, four processes over one": WORKERS,
  "jobs-scale: postgres: from submission to end, p50, wall": LATENCY,
  "jobs-scale: redis: drained by one process, 50 at a time, wall": ROWS,
  "jobs-scale: redis: share of BullMQ with the same rows and entries": ROWS,
  "jobs-scale: redis: the same, four processes over one": WORKERS,
  "jobs-scale: redis: from submission to end, p50, wall": LATENCY,
  "mcp-client: in memory, × the bare SDK": GATED,
  "mcp-client: over stdio, × the bare SDK": GATED,
  "mcp-client: over stdio, × the bare SDK, wall": GATED,
  "mcp-files: spawn to tools/list, memory, × server-filesystem":
    "it opens the store, the rules and the sandbox as well",
  "mcp-files: read 600 bytes, CPU, × server-filesystem": GATED,
  "mcp-files: read 600 bytes, wall p50, × server-filesystem": GATED,
  "mcp-server: one call over pipes, wall": GATED,
  "read: 2,000 lines from the start of 1 GB": "lines are numbered, measured in tokens and kept for edits",
  "sandbox: look (namespaces), over it": NAMESPACES,
  "sandbox: work (namespaces), over it": NAMESPACES,
  "search: Haft, index of 10,000 tools": INDEX,
  "search: Haft, query, 95th percentile": "questions with many frequent words rank most of the tools",
  "tool-search: index of 10,000 tools": INDEX,
  "tool-search: metatool, Haft, at most 3 past questions, recall@5": LEXICAL,
  "tool-search: toollens, Haft, at most 3 past questions, recall@5": LEXICAL,
  "verdict: verdict, 200 rules: read a file, p50": PATHS,
  "verdict: verdict, 200 rules: write a new file, p50": PATHS,
  "verdict: verdict, 200 rules: exec, the same command again, p50": PATHS,
  "verdict: reading a shell command not seen before, p50": "the whole grammar of the shell is read",
  "web-fetch: guarded fetch, × plain undici (the server's time in both)": "each address is resolved and checked",
};
