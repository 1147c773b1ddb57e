export interface StreamedEvent {
  id: string | undefined;
  type: string;
  data: string;
}

/** Server-sent events of a response, one by one. Comments are passed over; what is cut off at the end is not an event. */
export async function* readEventStream(
  body: ReadableStream<Uint8Array>,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>)
    .getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop()!;
      for (const block of blocks) {
        const event = parseBlock(block);
        if (event) yield event;
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parseBlock(block: string): StreamedEvent | undefined {
  const event: StreamedEvent = { id: undefined, type: "message", data: "" };
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const at = line.indexOf(":");
    const value = line.slice(at + 1).replace(/^ /, "");
    if (at === 0) continue;
    switch (line.slice(0, at)) {
      case "id":
        event.id = value;
        break;
      case "event":
        event.type = value;
        break;
      case "data":
        data.push(value);
        break;
      default:
        break;
    }
  }
  return data.length > 0 ? { ...event, data: data.join("\n") } : undefined;
}
