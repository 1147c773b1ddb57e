import type { ClientLink } from "../models/client-tools.ts";
import { ToolError } from "../core/error.ts";
import type { ApiContext } from "./door.ts";
import { HttpError } from "./door-error.ts";
import { type Identity, requireScope } from "./identify.ts";
import type { ClientRequest, EventMessage, SocketReply } from "./wire.ts";

export interface ServedClient {
  handleRequest(request: ClientRequest): Promise<void>;
  /** The connection is gone. */
  disconnected(): void;
}

interface Socket {
  identity: Identity;
  answer(answered: SocketReply): void;
  createEntry(type: EventMessage["type"], data: unknown): void;
}

/** The tools of whoever is at the other end of a WebSocket. */
export function serveClient({ clients }: ApiContext, { identity, answer, createEntry }: Socket): ServedClient {
  let link: ClientLink | undefined;
  return {
    async handleRequest(clientRequest) {
      const { request } = clientRequest;
      requireScope(identity, "call", "To bring tools");
      try {
        switch (clientRequest.type) {
          case "register": {
            const name = clientRequest.client ?? "client";
            // Before the first call that it may be asked for at once, the answer.
            const early: (() => void)[] = [];
            let isRegistered = false;
            const afterRegistration = (deliver: () => void): void =>
              void (isRegistered ? deliver() : early.push(deliver));
            link = clients.connect({ owner: identity.id, user: identity.name, name }, clientRequest.tools, {
              call: (call) => afterRegistration(() => createEntry("client_call", call)),
              ended: (id, reason) => afterRegistration(() => createEntry("client_call_ended", { id, reason })),
            });
            answer({ request, registered: clientRequest.tools.map((tool) => tool.name) });
            isRegistered = true;
            return early.forEach((deliver) => deliver());
          }
          case "unregister":
            await link?.leave();
            return answer({ request, registered: [] });
          case "result": {
            if (!link) throw new HttpError("conflict", "This client has registered no tools", "Send `register` first.");
            const { id, content, details, error } = clientRequest;
            const output = { content, details, error };
            return answer({ request, result: await link.answer(id, output as Parameters<ClientLink["answer"]>[1]) });
          }
        }
      } catch (error) {
        throw error instanceof ToolError ? refusalOf(error) : error;
      }
    },
    disconnected: () => link?.disconnected(),
  };
}

function refusalOf({ code, message }: ToolError): HttpError {
  if (code === "conflict") return new HttpError("conflict", message);
  return new HttpError(code === "busy" ? "too_many_requests" : "bad_request", message);
}
