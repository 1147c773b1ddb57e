import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import { createTool } from "../../core/create-tool.ts";
import { BODY_PARAMETER, HEADERS_PARAMETER, HTTP_PARAMETER_ALIASES, URL_PARAMETER } from "./http-parameters.ts";
import { type HttpDependencies, previewRequest, sendRequest } from "./send-request.ts";

export function createHttpPostTool(dependencies: HttpDependencies) {
  return createTool({
    name: "http_post",
    title: "HTTP POST",
    description: {
      short: "Sends a body to a URL with POST and gives status, headers and body of the answer.",
      usageNotes: ["An error status is an answer like others. Redirects to other hosts are told, not followed."],
      important: ["It changes something outside; it is not repeated by itself."],
      examples: [{ input: { url: "https://api.example.com/items", body: '{"name":"tea"}' } }],
    },
    parameters: z.object({ url: URL_PARAMETER, body: BODY_PARAMETER, headers: HEADERS_PARAMETER }),
    parameterAliases: HTTP_PARAMETER_ALIASES,
    kind: "execute",
    category: ToolCategory.NETWORK,
    tags: ["http", "api", "request", "send"],
    labels: ["untrusted_input", "outside_effect"],
    permission: "confirm",
    origin: { type: "builtin" },
    signature: ({ url }) => ({ text: `POST ${url}`, urls: [url] }),
    preview: async (input) => previewRequest({ method: "POST", ...input }),
    run: (input, context) => sendRequest(dependencies, { ...input, method: "POST", body: input.body ?? "" }, context),
  });
}
