import { showTime } from "../../core/clock.ts";
import { ApiError } from "../../contracts/errors.ts";
import { Scope } from "../../contracts/identity.ts";
import { type LinkRequest, type LoginLink, session } from "../../contracts/session.ts";
import { UsageError } from "../arguments.ts";
import { defineCommand } from "../command.ts";
import { safe } from "../output.ts";

export const login = defineCommand({
  examples: [
    ["haft login", "print a link that opens the console once"],
    ["haft login --scope read", "for someone who only watches"],
  ],
  options: {
    scope: {
      type: "list",
      value: "SCOPES",
      about: "read (view), call (run tools), approve (answer), admin (manage tokens); default: all",
    },
  },
  uses: ["session"],
  async run({ options: { scope }, folder, url, terminal, output, connect }) {
    const wrong = scope.find((word) => !Scope.safeParse(word).success);
    if (wrong !== undefined) {
      throw new UsageError(`There is no scope "${wrong}".`, `Scopes are: ${Scope.options.join(", ")}.`);
    }
    const request: LinkRequest = scope.length === 0 ? {} : { scopes: scope.map((word) => Scope.parse(word)) };
    const link = url === undefined ? await linkOfFolder() : await (await connect()).session.link(request);
    output.data(link, ({ url: address }) => [address]);
    output.info(`It signs a browser in once, until ${showTime(link.expiresAt)}.`);

    async function linkOfFolder(): Promise<LoginLink> {
      const { findRunningServer } = await import("../running-server.ts");
      const warn = (text: string): void => output.warn(safe(text));
      const server = await findRunningServer(folder, { env: terminal.env, anySettings: true, warn });
      if (!server) {
        throw new ApiError(
          "unreachable",
          `No server is running for ${folder}`,
          "Start it with `haft serve`, go to its folder, or name it with --url (and HAFT_TOKEN). One with TLS needs --url.",
        );
      }
      const { createHttpClient } = await import("../../api/http-client.ts");
      return createHttpClient({ session }, server).session.link(request);
    }
  },
});
