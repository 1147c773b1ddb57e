import type { Attributes, Histogram, Meter } from "@opentelemetry/api";
import type { Clock } from "../clock.ts";
import {
  activeContext,
  attempt,
  emitLog,
  hasOpenTelemetry,
  meter,
  runIn,
  STATUS_ERROR,
  tracer,
  withSpan,
} from "./open-telemetry.ts";
import { hideSecrets } from "../secrets/mask-secrets.ts";
import { disarmText } from "../untrusted-text.ts";

// Operations by the conventions of OpenTelemetry for generative AI: names of spans, attributes, metrics and events.

export interface Operation {
  /** `chat`, `invoke_agent` or `execute_tool`. */
  name: string;
  /** What it is done with, for the name of the span: the model, the agent. */
  subject: string;
  kind: number;
  clock: Clock;
  /** Of the span and, except for ids, of the metrics. */
  attributes: Attributes;
}

/** What became of an operation. */
export interface OperationOutcome {
  attributes?: Attributes;
  tokens?: { input: number; output: number } | undefined;
  /** The message of a tool is content of a call. It is left out. */
  error?: { type: string; message?: string } | undefined;
  /** The name of the event to log. Content is never logged. */
  event?: string;
}

const MAX_LENGTH = 200;

/** A text that a caller or a model may have chosen, for spans and logs: one short line without secrets and hidden characters. */
export function reportedText(text: string): string {
  const line = disarmText(hideSecrets(text.slice(0, 4 * MAX_LENGTH))).replace(/\s+/g, " ");
  return line.length > MAX_LENGTH ? `${line.slice(0, MAX_LENGTH)}…` : line;
}

/** Runs an operation in a span of its own, and reports its duration, tokens and end. */
export async function traceOperation<T>(
  operation: Operation,
  run: () => Promise<T>,
  outcomeOf: (result: T) => OperationOutcome,
): Promise<T> {
  if (!hasOpenTelemetry()) return run();
  const { name, subject, kind, clock } = operation;
  const attributes = { "gen_ai.operation.name": name, ...reportedAttributes(operation.attributes) };
  const parent = activeContext();
  const span = attempt(() => tracer()?.startSpan(`${name} ${reportedText(subject)}`, { kind, attributes }, parent));
  const context = span ? withSpan(parent, span) : parent;
  const began = clock.monotonic();
  const end = (outcome: OperationOutcome): void => {
    const { tokens, error, event } = outcome;
    const labels = { ...metricLabels(attributes), "error.type": error?.type };
    recordDuration((clock.monotonic() - began) / 1000, labels);
    if (tokens) recordTokens(tokens, labels);
    const usage = tokens && { "gen_ai.usage.input_tokens": tokens.input, "gen_ai.usage.output_tokens": tokens.output };
    const all = { ...outcome.attributes, ...usage, "error.type": error?.type };
    span?.setAttributes(all);
    if (error) span?.setStatus({ code: STATUS_ERROR, message: error.message && reportedText(error.message) });
    span?.end();
    if (event) logEvent(event, { ...attributes, ...all }, { error, context });
  };
  try {
    const result = await runIn(context, run);
    attempt(() => end(outcomeOf(result)));
    return result;
  } catch (thrown) {
    const type = thrown instanceof Error ? thrown.name : "_OTHER";
    attempt(() => end({ error: { type, message: thrown instanceof Error ? thrown.message : String(thrown) } }));
    throw thrown;
  }
}

export function reportedAttributes(attributes: Attributes): Attributes {
  return Object.fromEntries(
    Object.entries(attributes).map(([name, value]) => [name, typeof value === "string" ? reportedText(value) : value]),
  );
}

/** Ids would give a metric a series for each of them. */
function metricLabels(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !name.endsWith(".id")));
}

const DURATION_BUCKETS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKEN_BUCKETS = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216];

export function recordDuration(seconds: number, labels: Attributes): void {
  const options = { unit: "s", description: "Duration of operations", buckets: DURATION_BUCKETS };
  histogram("gen_ai.client.operation.duration", options)?.record(seconds, labels);
}

function recordTokens({ input, output }: { input: number; output: number }, labels: Attributes): void {
  const options = { unit: "{token}", description: "Tokens used", buckets: TOKEN_BUCKETS };
  const tokens = histogram("gen_ai.client.token.usage", options);
  tokens?.record(input, { ...labels, "gen_ai.token.type": "input" });
  tokens?.record(output, { ...labels, "gen_ai.token.type": "output" });
}

const histograms = new WeakMap<Meter, Map<string, Histogram>>();

function histogram(
  name: string,
  { unit, description, buckets }: { unit: string; description: string; buckets: number[] },
): Histogram | undefined {
  const from = meter();
  if (!from) return undefined;
  let known = histograms.get(from);
  if (!known) histograms.set(from, (known = new Map()));
  let found = known.get(name);
  if (!found) {
    const advice = { explicitBucketBoundaries: buckets };
    known.set(name, (found = from.createHistogram(name, { unit, description, advice })));
  }
  return found;
}

/** `SeverityNumber` of the logs API. */
const INFO = 9;
const ERROR = 17;

export function logEvent(
  eventName: string,
  attributes: Attributes,
  {
    error,
    context = activeContext(),
  }: { error?: OperationOutcome["error"]; context?: ReturnType<typeof activeContext> },
): void {
  emitLog({
    eventName,
    severityNumber: error ? ERROR : INFO,
    severityText: error ? "ERROR" : "INFO",
    body: error?.message && reportedText(error.message),
    attributes,
    context,
  });
}
