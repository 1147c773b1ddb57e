// What the MCP SDK takes from its runtime, for the bundle of the command line. Its default validator for forms, Ajv, is 300 KB
// that every `haft mcp` would load; this is the SDK's own smaller one.
export { CfWorkerJsonSchemaValidator as DefaultJsonSchemaValidator } from "@modelcontextprotocol/server/validators/cf-worker";
export { default as process } from "node:process";
