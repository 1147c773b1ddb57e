// A class with getParameters() and validateParams().
import { createHaft } from "haft";

class Publish {
  name = "publish";
  description = "Publishes a page";
  permission = "confirm";
  getParameters = () => [{ name: "page", type: "string", description: "Which page" }];
  validateParams = ({ page }) => (page === "" ? "the page has no name" : null);
  execute = async ({ page }) => ({ success: true, data: `published ${page}` });
}
const haft = createHaft({ tools: [new Publish()] });
const { pending } = await haft.execute("publish", { page: "home" });
console.log((await haft.approvals.approve(pending.id)).display); //> published home
console.log((await haft.execute("publish", { page: "" })).error.code); //> invalid_input
