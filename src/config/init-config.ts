import { realpath } from "node:fs/promises";
import { join } from "node:path";
import { createFiles } from "../io/files/files.ts";
import { createPathPolicy } from "../io/files/path-policy.ts";

/** Every line is explained in a comment, and changes no default. */
const STARTER = `# Configuration of Haft for this folder. Every key is optional.
# yaml-language-server: $schema=./node_modules/haft/docs/haft.config.schema.json

tools:
  # How long a call may run, in milliseconds, and how many run at once.
  timeout: 30000
  maxConcurrent: 3

  # Which tools exist: minimal, coding, messaging or full; then lists of tools, group:… and * patterns.
  # profile: coding
  # deny: ["group:web"]

permissions:
  # What happens to a call: deny wins over ask, and ask over allow.
  # allow: ["Bash(npm test)"]
  # ask: ["Bash(git push:*)"]
  deny:
    - Read(./secrets/**)

# workspace:
#   allowedPaths: ["./src", "./docs"]
#   denyGlobs: ["*.sqlite"]

# mcpServers:
#   everything:
#     command: npx
#     args: ["-y", "@modelcontextprotocol/server-everything"]
#     env: { TOKEN: "\${TOKEN:-none}" }

# hooks:
#   PreToolUse:
#     - matcher: Bash
#       hooks: [{ type: command, command: ./hooks/check.sh, onFailure: block }]
`;

/** Writes a commented `haft.config.yml` and returns its path. Fails if it exists. */
export async function initConfig(folder: string): Promise<string> {
  const workspace = await realpath(folder);
  const files = createFiles(createPathPolicy({ workspace, permitGlobs: ["haft.config.yml"] }));
  await files.writeFileAtomic("haft.config.yml", Buffer.from(STARTER), { ifAbsent: true, mode: 0o644 });
  return join(workspace, "haft.config.yml");
}
