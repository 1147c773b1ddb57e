/** What programs say when the sandbox refuses them something, and what they wanted. */
const REFUSALS: readonly { said: RegExp; wanted: (found: RegExpMatchArray) => string }[] = [
  { said: /['"‘]?((?:\/|\.)[^\s'"’:]*)['"’]?: Read-only file system/, wanted: ([, path]) => `to write to ${path}` },
  { said: /EROFS: read-only file system, \w+ '([^']+)'/, wanted: ([, path]) => `to write to ${path}` },
  { said: /Read-only file system/, wanted: () => "to write outside of the workspace" },
  {
    said: /Could not resolve (?:host|proxy)(?: name)?:? ?'?([\w.-]+)?/i,
    wanted: ([, host]) => `to reach ${host ?? "the network"}`,
  },
  { said: /(?:EAI_AGAIN|ENOTFOUND) ([\w.-]+)/, wanted: ([, host]) => `to reach ${host}` },
  {
    said: /Temporary failure in name resolution|Network is unreachable|ENETUNREACH|Name or service not known/i,
    wanted: () => "to reach the network",
  },
];

/** The sandbox is probably why a command failed: what it wanted, and how to ask for that. */
export function explainRefusals(output: string): string[] {
  const tail = output.slice(-20_000);
  for (const { said, wanted } of REFUSALS) {
    const found = tail.match(said);
    if (!found) continue;
    return [
      `the sandbox refused it: it wanted ${wanted(found)}. If that is needed, call again with outside_sandbox: true; a person is asked then`,
    ];
  }
  return [];
}
