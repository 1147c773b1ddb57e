/** What is known of a tool's calls. Durations in milliseconds. */
export interface ToolStatistics {
  count: number;
  failures: number;
  avgDuration: number;
  p50: number;
  p95: number;
  /** Of content given to the model. */
  bytes: number;
  /** Answers that came after the caller had been told of a timeout or an abort. */
  late: number;
  byArm?: Record<string, { count: number; failures: number; avgDuration: number }>;
}

export interface CallStatistics {
  byTool(): Record<string, ToolStatistics>;
}
