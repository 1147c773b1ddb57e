import type { ApiContext } from "../door.ts";
import { HttpError } from "../door-error.ts";
import { json, type Resource, route } from "../route.ts";

const TEST_TEXT = "This is a test message from Haft. If you can read it, the channel works.";

export const channels: Resource<ApiContext> = {
  path: "/api/channels",
  routes({ parts: { channels: part }, runs }) {
    if (!part) return [];
    return [
      route("GET /api/channels", {
        summary: "Where messages can be written to, and what is ready",
        scope: "read",
        answers: "ChannelPage",
        handle: async () => json({ items: await part.list() }),
      }),
      route("POST /api/channels/{name}/test", {
        summary: "Send a test message; a deny of policy still counts",
        scope: "approve",
        body: "ChannelTestRequest",
        answers: "ToolResult",
        async handle({ params, body: { to, text = TEST_TEXT }, identity }) {
          const channel = (await part.list()).find(({ name }) => name === params["name"]);
          if (!channel) throw new HttpError("not_found", "There is no such channel", "GET /api/channels lists them.");
          const input = { action: "send", channel: channel.name, to: to ?? channel.targets[0], text };
          // Who may approve has asked for it: nobody else is asked.
          const { result } = runs.start({ tool: "message", input, mode: "bypassPermissions" }, identity);
          return json(await result);
        },
      }),
    ];
  },
};
