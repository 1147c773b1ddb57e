/** What programs say when the sandbox refuses them something, and what they wanted. */
const REFUSALS: readonly { pattern: RegExp; wanted: (found: RegExpMatchArray) => string }[] = [
  { pattern: /['"‘]?((?:\/|\.)[^\s'"’:]*)['"’]?: Read-only file system/, wanted: ([, path]) => `to write to ${path}` },
  { pattern: /EROFS: read-only file system, \w+ '([^']+)'/, wanted: ([, path]) => `to write to ${path}` },
  { pattern: /Read-only file system/, wanted: () => "to write outside of the workspace" },
  {
    pattern: /Could not resolve (?:host|proxy)(?: name)?:? ?'?([\w.-]+)?/i,
    wanted: ([, host]) => `to reach ${host ?? "the network"}`,
  },
  { pattern: /(?:EAI_AGAIN|ENOTFOUND) ([\w.-]+)/, wanted: ([, host]) => `to reach ${host}` },
  {
    pattern: /Temporary failure in name resolution|Network is unreachable|ENETUNREACH|Name or service not known/i,
    wanted: () => "to reach the network",
  },
];

/** The sandbox is probably why a command failed: what it wanted, and how to ask for that. */
export function explainRefusals(output: string): string[] {
  const tail = output.slice(-20_000);
  for (const { pattern, wanted } of REFUSALS) {
    const found = tail.match(pattern);
    if (!found) continue;
    return [
      `the sandbox refused it: it wanted ${wanted(found)}. If that is needed, call again with outside_sandbox: true; a person is asked then`,
    ];
  }
  return [];
}
