import type { ClientLink } from "../agent/client-call.ts";
import { ToolError } from "../core/error.ts";
import type { Door } from "./door.ts";
import { DoorError } from "./door-error.ts";
import { type Identity, requireScope } from "./identify.ts";
import type { ClientRequest, EventMessage, SocketAnswer } from "./wire.ts";

export interface ServedClient {
  obey(request: ClientRequest): Promise<void>;
  /** The connection is gone. */
  vanish(): void;
}

interface Socket {
  identity: Identity;
  answer(answered: SocketAnswer): void;
  say(type: EventMessage["type"], data: unknown): void;
}

/** The tools of whoever is at the other end of a WebSocket. */
export function serveClient({ clients }: Door, { identity, answer, say }: Socket): ServedClient {
  let link: ClientLink | undefined;
  return {
    async obey(heard) {
      const { request } = heard;
      requireScope(identity, "call", "To bring tools");
      try {
        switch (heard.type) {
          case "register": {
            const name = heard.client ?? "client";
            // Before the first call that it may be asked for at once, the answer.
            const early: (() => void)[] = [];
            let isRegistered = false;
            const later = (tell: () => void): void => void (isRegistered ? tell() : early.push(tell));
            link = clients.connect({ owner: identity.id, user: identity.name, name }, heard.tools, {
              call: (call) => later(() => say("client_call", call)),
              ended: (id, reason) => later(() => say("client_call_ended", { id, reason })),
            });
            answer({ request, registered: heard.tools.map((tool) => tool.name) });
            isRegistered = true;
            return early.forEach((tell) => tell());
          }
          case "unregister":
            await link?.leave();
            return answer({ request, registered: [] });
          case "result": {
            if (!link) throw new DoorError("conflict", "This client has registered no tools", "Send `register` first.");
            const { id, content, details, error } = heard;
            const said = { content, details, error };
            return answer({ request, result: await link.answer(id, said as Parameters<ClientLink["answer"]>[1]) });
          }
        }
      } catch (error) {
        throw error instanceof ToolError ? refusalOf(error) : error;
      }
    },
    vanish: () => link?.vanish(),
  };
}

function refusalOf({ code, message }: ToolError): DoorError {
  if (code === "conflict") return new DoorError("conflict", message);
  return new DoorError(code === "busy" ? "too_many_requests" : "bad_request", message);
}
