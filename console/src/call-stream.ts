import type { CallFrame, CallRequest } from "../../src/http/wire.ts";
import { addressOf, ApiError, sent } from "./api.ts";

/** Makes a call and gives its frames as they come; ends with the result. Aborting ends the call, too. */
export async function* streamCall(request: CallRequest, signal: AbortSignal): AsyncGenerator<CallFrame> {
  const response = await fetch(addressOf("calls"), sent("POST", { ...request, answer: "events" }, signal));
  if (!response.ok || !response.body) {
    const { error } = (await response.json()) as { error: ConstructorParameters<typeof ApiError>[1] };
    throw new ApiError(response.status, error);
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const events = rest.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice(5).trimStart())
        .join("\n");
      if (data !== "") yield JSON.parse(data) as CallFrame;
    }
  }
}
