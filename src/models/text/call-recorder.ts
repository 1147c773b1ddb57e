import { failureOf, issuesOf, toFailure, type ToolFailure } from "../../core/error.ts";
import { parseJson } from "../../core/parse-json.ts";
import { isObject } from "../../schema/json-schema.ts";
import { Malformed, type Source } from "./text-source.ts";
import type { TextFormatName } from "../../core/text-formats.ts";
import type { ParsedToolCall, ToolCallEvent } from "./tool-call-parser.ts";

/** Limits of one text, far above what a model writes. */
const CALL_LIMITS = { calls: 512, characters: 4 * 1024 * 1024, name: 200, repairs: 20 };

interface CallRecorderOptions {
  source: Source;
  emit(event: ToolCallEvent): void;
  /** Whether arguments are emitted piece by piece. */
  streams: boolean;
  newId(): string;
  explain(reason: string, name: string, format: TextFormatName): string;
}

interface OpenCall {
  id: string;
  index: number;
  format: TextFormatName;
  isTentative: boolean;
  isStarted: boolean;
  name?: string;
  modelId?: string;
  json: string;
  repairs: string[];
  input?: Record<string, unknown>;
  failure?: ToolFailure;
}

/** Turns what readers find into events, one call at a time. A call ends when the next one opens, or with `close`. */
export class CallRecorder {
  /** Whether arguments are emitted piece by piece. */
  readonly streams: boolean;
  readonly #options: CallRecorderOptions;
  /** How many calls were closed. */
  count = 0;
  #current: OpenCall | undefined;

  constructor(options: CallRecorderOptions) {
    this.#options = options;
    this.streams = options.streams;
  }

  get isTentative(): boolean {
    return this.#current?.isTentative ?? false;
  }

  get isFailed(): boolean {
    return this.#current?.failure !== undefined;
  }

  get isFinished(): boolean {
    return this.#current?.input !== undefined;
  }

  /** Neither a name nor an argument was read yet. */
  get isEmpty(): boolean {
    return this.#current !== undefined && this.#current.name === undefined && this.#current.json === "";
  }

  get name(): string {
    return this.#current?.name ?? "";
  }

  get hasName(): boolean {
    return this.#current?.name !== undefined;
  }

  /** The text has reached the maximum number of calls. */
  get isFull(): boolean {
    return this.count >= CALL_LIMITS.calls;
  }

  /** Starts a call. The text that was taken and not passed on yet belongs to it. */
  open(format: TextFormatName, { tentative = false }: { tentative?: boolean } = {}): void {
    if (this.#current) this.close();
    const id = this.#options.newId();
    this.#current = { id, index: this.count, format, isTentative: tentative, isStarted: false, json: "", repairs: [] };
  }

  /** The tentative call is certain to be a call. */
  confirm(): void {
    const call = this.#open();
    call.isTentative = false;
    this.#start(call);
  }

  setName(name: string): void {
    const call = this.#open();
    if (name.length > CALL_LIMITS.name) throw new Malformed("its name is too long");
    if (/[<>{}"\n]/.test(name)) throw notAToolName(name);
    call.name = name;
    if (name) this.#start(call);
  }

  setModelId(id: string): void {
    this.#open().modelId = id;
  }

  /** The format turned out to be this one. */
  readAs(format: TextFormatName): void {
    this.#open().format = format;
  }

  /** Adds a piece of the arguments, as JSON. */
  readonly write = (json: string): void => {
    const call = this.#open();
    call.json += json;
    if (call.isStarted) this.#emitArguments(call, json);
  };

  readonly repair = (what: string): void => {
    const { repairs } = this.#open();
    if (!repairs.includes(what) && repairs.length < CALL_LIMITS.repairs) repairs.push(what);
  };

  /** The call was read completely. `input` defaults to the JSON that was written. */
  finish(input?: Record<string, unknown>): void {
    const call = this.#open();
    call.input = input ?? inputFrom(call.json);
  }

  fail(reason: Malformed): void {
    this.#fail(this.#open(), reason);
  }

  close(): void {
    const call = this.#current;
    if (!call) return;
    this.#check(call);
    this.#current = undefined;
    this.count++;
    const { id, index, name = "", input = {}, format, modelId, repairs, failure } = call;
    const parsed: ParsedToolCall = {
      id,
      name,
      input,
      rawText: this.#options.source.takeMarked(),
      format,
      modelId,
      repairs: repairs.length > 0 ? repairs : undefined,
      failure,
    };
    this.#options.emit({ type: failure ? "call_failed" : "call_completed", id, index, call: parsed });
  }

  /** The text was not a call. What was taken belongs to the caller again. */
  discard(): void {
    this.#current = undefined;
  }

  #open(): OpenCall {
    if (!this.#current) throw new Error("No call is open.");
    return this.#current;
  }

  #start(call: OpenCall): void {
    if (call.isStarted || call.isTentative || call.name === undefined) return;
    call.isStarted = true;
    this.#options.emit({ type: "call_started", id: call.id, index: call.index, name: call.name });
    if (call.json) this.#emitArguments(call, call.json);
  }

  #emitArguments({ id, index }: OpenCall, delta: string): void {
    if (this.streams) this.#options.emit({ type: "call_arguments", id, index, delta });
  }

  #check(call: OpenCall): void {
    if (!call.failure && !call.input) this.#fail(call, new Malformed("it is not complete"));
    if (!call.failure && !call.name) this.#fail(call, new Malformed("it does not name a tool"));
    if (this.#options.source.markedLength > CALL_LIMITS.characters) {
      const reason = `it has more than ${CALL_LIMITS.characters} characters`;
      this.#fail(call, new Malformed(reason, "input_too_large"));
    }
  }

  #fail(call: OpenCall, { reason, code }: Malformed): void {
    call.failure = failureOf(code, this.#options.explain(reason, call.name ?? "", call.format));
  }
}

export function notAToolName(text: string): Malformed {
  return new Malformed(`${JSON.stringify(text.slice(0, 40))} is not a tool name`);
}

/** Parses strictly: repairs have been made already, and a duplicate key is ambiguous. */
export function inputFrom(json: string): Record<string, unknown> {
  let input: unknown;
  try {
    input = parseJson(json === "" ? "{}" : json);
  } catch (thrown) {
    const failure = toFailure(thrown);
    const [issue = failure.message] = issuesOf(failure);
    throw new Malformed(issue, failure.code);
  }
  if (!isObject(input)) throw new Malformed("its arguments are not an object");
  return input;
}
