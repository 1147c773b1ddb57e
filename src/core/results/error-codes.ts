const MODEL = { actor: "model", retryable: false } as const;
const POLICY = { actor: "policy", retryable: false } as const;
const CALLER = { actor: "caller", retryable: false } as const;
const TOOL = { actor: "tool", retryable: false } as const;
const TOOL_LATER = { actor: "tool", retryable: true } as const;
const RUNTIME_LATER = { actor: "runtime", retryable: true } as const;
const RUNTIME = { actor: "runtime", retryable: false } as const;

/** Every failure has one of these codes: who must act (`actor`), whether it may succeed later (`retryable`). */
export const ERROR_CODES = {
  // The model must change the call.
  tool_not_found: MODEL,
  invalid_input: MODEL,
  input_too_large: MODEL,
  path_not_found: MODEL,
  path_exists: MODEL,
  is_directory: MODEL,
  not_directory: MODEL,
  not_regular_file: MODEL,
  not_empty: MODEL,
  too_large: MODEL,
  bad_range: MODEL,
  bad_pattern: MODEL,
  bad_patch: MODEL,
  bad_encoding: MODEL,
  no_match: MODEL,
  ambiguous: MODEL,
  no_change: MODEL,
  overlap: MODEL,
  elided: MODEL,
  not_read: MODEL,
  stale: MODEL,
  unknown_process: MODEL,
  dependency_failed: MODEL,
  no_answer: MODEL,
  // Policy or a person denied it, or approval is missing.
  denied: POLICY,
  path_denied: POLICY,
  name_denied: POLICY,
  plan_mode: POLICY,
  approval_denied: POLICY,
  approval_expired: POLICY,
  // The program that made the call must act.
  cancelled: CALLER,
  conflict: CALLER,
  too_deep: CALLER,
  replay_mismatch: CALLER,
  // The tool, or a service that it uses, failed.
  failed: TOOL,
  exit_code: TOOL,
  bad_output: TOOL,
  timeout: TOOL_LATER,
  unavailable: TOOL_LATER,
  io_error: TOOL_LATER,
  // The runtime could not accept or finish the call.
  busy: RUNTIME_LATER,
  deadlock: RUNTIME_LATER,
  shutdown: RUNTIME_LATER,
  not_recorded: RUNTIME_LATER,
  unknown_outcome: RUNTIME,
  missing_package: RUNTIME,
  internal: RUNTIME,
} as const;

/** One of the closed table of codes. */
export type ErrorCode = keyof typeof ERROR_CODES;
