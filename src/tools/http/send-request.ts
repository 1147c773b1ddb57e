import { text } from "../../core/content.ts";
import type { ToolOutput } from "../../core/result.ts";
import type { Preview, ToolContext } from "../../core/tool.ts";
import { showHiddenCharacters } from "../../shell/hidden-characters.ts";
import type { GuardedFetch } from "../../net/guarded-net.ts";
import { type HttpDetails, readResponse } from "./read-response.ts";

/** Keeps a body that is too large to be shown. */
export interface BodySink {
  write(chunk: Buffer): Promise<void>;
  close(): Promise<{ ref: string }>;
}

export interface HttpDependencies {
  fetch: GuardedFetch;
  /** Where bodies are kept that a result cannot hold; without it they are cut. */
  openSpill?: (call: { callId: string }) => BodySink | Promise<BodySink>;
}

export interface HttpInput {
  method: string;
  url: string;
  headers?: Record<string, string> | undefined;
  body?: string | undefined;
}

/** One request. Only redirects to the same host are followed: permission was given for that host. */
export async function sendRequest(
  { fetch, openSpill }: HttpDependencies,
  { method, url, headers = {}, body }: HttpInput,
  context: ToolContext,
): Promise<ToolOutput<HttpDetails>> {
  const response = await fetch(url, {
    method,
    headers: body === undefined ? headers : withContentType(headers, body),
    ...(body === undefined ? {} : { body }),
    signal: context.signal,
    follow: "same-host",
  });
  const save = openSpill && (async (bytes: Buffer) => saveBody(await openSpill({ callId: context.callId }), bytes));
  return readResponse(response, { method, ...(save ? { save } : {}) });
}

/** Everything that the answer decides about, with nothing hidden in it. */
export function previewRequest({ method, url, headers = {}, body }: HttpInput): Preview {
  const lines = [
    `${method.toUpperCase()} ${showHiddenCharacters(url)}`,
    ...Object.entries(headers).map(([name, value]) => `${showHiddenCharacters(name)}: ${showHiddenCharacters(value)}`),
    ...(body === undefined ? [] : ["", showHiddenCharacters(body)]),
  ];
  return { title: "Send a request", content: [text(lines.join("\n"))] };
}

function withContentType(headers: Record<string, string>, body: string): Record<string, string> {
  if (Object.keys(headers).some((name) => name.toLowerCase() === "content-type")) return headers;
  return { ...headers, "content-type": isJson(body) ? "application/json" : "text/plain; charset=utf-8" };
}

function isJson(body: string): boolean {
  try {
    return typeof JSON.parse(body) === "object";
  } catch {
    return false;
  }
}

async function saveBody(sink: BodySink, bytes: Buffer): Promise<string> {
  await sink.write(bytes).catch(async (error: unknown) => {
    await sink.close();
    throw error;
  });
  return (await sink.close()).ref;
}
