import { createHaft, type Haft } from "haft";
import { onTestFinished } from "vitest";
import { createGuardedNet, createHttpTools, createWebTools } from "haft/workspace";
import { type RequestHandler, type LocalServer, startServer } from "../setup/local-server.ts";

/** A server of this machine, the tools that may reach it and nothing else here, and a person who says yes. */
export async function openWeb(answer: RequestHandler, provider = "searxng"): Promise<LocalServer & { haft: Haft }> {
  const server = await startServer(answer);
  const { fetch, close } = createGuardedNet({ exceptions: [`127.0.0.1:${server.port}`] });
  const search = { provider, apiKey: "key", endpoint: `${server.origin}/` };
  const web = createWebTools({ fetch, search });
  const haft = createHaft({
    tools: [...createHttpTools({ fetch }), ...web.tools],
    approver: async () => ({ approved: true, by: "ada" }),
  });
  onTestFinished(async () => {
    await haft.shutdown();
    await web.close();
    await close();
  });
  return { ...server, haft };
}

export const searchAnswer: RequestHandler = ({ path }, response) => {
  const query = new URL(path, "http://x").searchParams.get("q");
  const results = ["one", "two"].map((content, n) => {
    return { title: `${query} ${n + 1}`, url: `https://site.example/${n + 1}`, content };
  });
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ results }));
};

export const pageAnswer: RequestHandler = (_request, response) => {
  response.writeHead(200, { "content-type": "text/html" }).end(`<html><head><title>Tea | Kitchen</title></head><body>
    <nav><a href="/">Home</a></nav><article><h1>How to brew tea</h1><p>Heat the water, but do not boil it: green tea turns
    bitter in water that is too hot, and black tea stays thin in water that is too cold.</p>
    <table><tr><th>Tea</th><th>Degrees</th></tr><tr><td>Green</td><td>80</td></tr></table></article></body></html>`);
};

const LINE = "BT /F1 12 Tf 72 720 Td (On tea) Tj ET";
/** One page with one line. */
export const PDF = `%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Count 1 /Kids [4 0 R] >> endobj
3 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> endobj
4 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >> endobj
5 0 obj << /Length ${LINE.length} >> stream
${LINE}
endstream endobj
trailer << /Root 1 0 R /Size 6 >>
%%EOF`;
