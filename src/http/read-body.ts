import { Buffer } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { ToolError } from "../core/error.ts";
import { parseJson } from "../core/parse-json.ts";
import { HttpError } from "./door-error.ts";
import type { Shape, ShapeName } from "./wire-schemas.ts";

/** The JSON of a request, bounded before it is read and parsed as strictly as the gate does. */
export async function readJson(incoming: IncomingMessage, maxBytes: number): Promise<unknown> {
  const type = incoming.headers["content-type"] ?? "";
  // A page of somebody else can send a form or plain text without asking first, but not this.
  if (!/^application\/json\s*(?:;|$)/i.test(type)) {
    throw new HttpError(
      "unsupported_media_type",
      "The body must be JSON",
      "Send it with `content-type: application/json`.",
    );
  }
  const text = await readText(incoming, maxBytes);
  if (text === "") return {};
  try {
    return parseJson(text);
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    const code = error.code === "input_too_large" ? "too_large" : "bad_request";
    throw new HttpError(code, error.message.replace("Parameter validation failed: the input", "The body"));
  }
}

function readText(incoming: IncomingMessage, maxBytes: number): Promise<string> {
  const tooLarge = (): HttpError =>
    new HttpError("too_large", `The body has more than ${maxBytes} bytes`, "Send less at once.", {
      headers: { connection: "close" },
    });
  if (Number(incoming.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge());
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    let isWhole = false;
    incoming.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= maxBytes) chunks.push(chunk);
      else {
        incoming.pause();
        reject(tooLarge());
      }
    });
    incoming.on("end", () => {
      isWhole = true;
      resolve(chunks.length === 1 ? chunks[0]!.toString("utf8") : Buffer.concat(chunks).toString("utf8"));
    });
    // Every request is closed at last; an error that nobody sees would still cost a stack trace each time.
    const gone = (): void => {
      if (!isWhole) reject(new HttpError("bad_request", "The request ended before its body did"));
    };
    incoming.on("error", gone);
    incoming.on("close", gone);
  });
}

let loaded: typeof import("./wire-schemas.ts") | undefined;

/** Zod takes its time to load; a server that listens already loads it meanwhile. */
export async function loadSchemas(): Promise<typeof import("./wire-schemas.ts")> {
  return (loaded ??= await import("./wire-schemas.ts"));
}

/** Holds a value against its shape; every issue is named with its place. */
export async function checkShape<Name extends ShapeName>(name: Name, value: unknown): Promise<Shape<Name>> {
  const { SHAPES } = loaded ?? (await loadSchemas());
  const parsed = SHAPES[name].safeParse(value);
  if (parsed.success) return parsed.data as Shape<Name>;
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "body"}: ${message}`);
  throw new HttpError("bad_request", `The body is no ${name}: ${issues.join("; ")}`, "See /api/openapi.json.", {
    data: { issues },
  });
}
