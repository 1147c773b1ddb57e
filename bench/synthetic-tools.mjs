// Tools as large collections have them: a verb and a thing of some service, a sentence or two, two to five parameters.
import { z } from "zod";

const words = (text) => text.trim().split(/\s+/);

const SERVICES = words(`
  github gitlab jira slack stripe shopify salesforce hubspot zendesk notion airtable dropbox spotify youtube twilio
  sendgrid mailchimp asana trello confluence figma datadog grafana sentry pagerduty okta cloudflare kubernetes postgres
  mongodb redis elastic snowflake bigquery quickbooks xero docusign calendly zoom weather flights hotels maps news`);
const VERBS = words(`
  get list create update delete search send archive restore export import merge assign approve cancel schedule validate
  convert upload download subscribe publish compare count rename move`);
const THINGS = words(`
  user account invoice payment order refund message channel thread issue comment branch commit release deployment
  dashboard alert incident metric document folder file page contact lead campaign template event meeting reminder task
  project board sprint label webhook token permission role team customer product price discount cart shipment address
  review survey report chart table record query backup snapshot image video playlist track forecast route`);
const WAYS = ["by its identifier", "by name", "in bulk", "for a team", "over a period", "from a template"];
/** Prime, so that neighbours differ in every word. */
const SPREAD = 7919;
const PARAMETERS = [
  ["id", "string", "Identifier of the record, as the list call returns it."],
  ["query", "string", "Words to look for; quotes keep a phrase together."],
  ["limit", "integer", "How many to return at most, from 1 to 100."],
  ["cursor", "string", "Where the page before ended; absent for the first page."],
  ["status", "choice", "Only those in this state."],
  ["tags", "list", "Labels that all have to be present."],
  ["start_date", "string", "First day of the period, as YYYY-MM-DD."],
  ["end_date", "string", "Last day of the period, as YYYY-MM-DD."],
  ["dry_run", "boolean", "Says what would happen and changes nothing."],
  ["recipient", "string", "E-mail address or handle of whoever receives it."],
  ["amount", "number", "Sum in the currency's main unit."],
  ["notify", "boolean", "Whether those concerned are told."],
];
const STATES = ["open", "closed", "pending"];

/** The same tools for the same count, every time; no name comes twice below 60,000. */
export function makeTools(count) {
  return Array.from({ length: count }, (_, i) => {
    const mixed = (i * SPREAD) % (SERVICES.length * VERBS.length * THINGS.length);
    const service = SERVICES[mixed % SERVICES.length];
    const verb = VERBS[Math.floor(mixed / SERVICES.length) % VERBS.length];
    const thing = THINGS[Math.floor(mixed / (SERVICES.length * VERBS.length))];
    const parameters = Array.from({ length: 2 + (i % 4) }, (__, n) => PARAMETERS[(i + n * 5) % PARAMETERS.length]);
    return {
      name: `${service}_${verb}_${thing}`,
      description:
        `${capital(verb)} a ${thing} in ${capital(service)} ${WAYS[i % WAYS.length]}. ` +
        `Returns the ${thing} with its ${THINGS[(i * 13) % THINGS.length]}; use it when somebody asks to ${verb} one.`,
      parameters,
    };
  });
}

/** Questions that some of the tools answer, each of other words than the one before. */
export function makeQueries(count) {
  return Array.from({ length: count }, (_, i) => {
    const verb = VERBS[(i * 5) % VERBS.length];
    const thing = THINGS[(i * 11) % THINGS.length];
    const service = SERVICES[(i * 3) % SERVICES.length];
    const forms = [`${verb} ${thing}`, `${service} ${thing}`, `${verb} the ${thing} of a customer in ${service}`];
    return [...forms, `how do I ${verb} all ${thing}s of last month and notify the team`][i % 4];
  });
}

export function toZod({ parameters }) {
  return z.object(Object.fromEntries(parameters.map((parameter, n) => [parameter[0], zodOf(parameter, n)])));
}

function zodOf([, type, description], place) {
  const schema = {
    string: () => z.string().min(1),
    integer: () => z.int().min(1).max(100),
    number: () => z.number(),
    boolean: () => z.boolean(),
    choice: () => z.enum(STATES),
    list: () => z.array(z.string()),
  }[type]();
  return (place === 0 ? schema : schema.optional()).describe(description);
}

export function toJsonSchema({ parameters }) {
  const properties = Object.fromEntries(parameters.map((parameter) => [parameter[0], jsonOf(parameter)]));
  return { type: "object", properties, required: [parameters[0][0]], additionalProperties: false };
}

function jsonOf([, type, description]) {
  const keywords = {
    string: { type: "string", minLength: 1 },
    integer: { type: "integer", minimum: 1, maximum: 100 },
    number: { type: "number" },
    boolean: { type: "boolean" },
    choice: { type: "string", enum: STATES },
    list: { type: "array", items: { type: "string" } },
  }[type];
  return { ...keywords, description };
}

function capital(word) {
  return word[0].toUpperCase() + word.slice(1);
}
