// Labels of AgentDojo's tools, as their author would give them: from the tools' definitions, never from the tasks.

const MAIL = ["id_", "timestamp", "sender", "recipients", "cc", "bcc", "status"];
const EVENT = ["id_", "start_time", "end_time", "participants", "status"];
const FILE = ["id_", "last_modified", "owner", "shared_with", "size"];

/** The tools whose results others write, and the fields of them that the service makes. */
const BY_OTHERS = {
  read_file: [],
  get_most_recent_transactions: ["id", "sender", "recipient", "amount", "date"],
  read_channel_messages: ["sender", "recipient"],
  read_inbox: ["sender", "recipient"],
  get_webpage: [],
  get_unread_emails: [...MAIL, "attachments"],
  get_received_emails: [...MAIL, "attachments"],
  search_emails: [...MAIL, "attachments"],
  search_calendar_events: EVENT,
  get_day_calendar_events: EVENT,
  search_files_by_filename: FILE,
  get_file_by_id: FILE,
  list_files: FILE,
  search_files: FILE,
  get_rating_reviews_for_hotels: [],
  get_rating_reviews_for_restaurants: [],
  get_rating_reviews_for_car_rental: [],
  // Of AgentDyn: pages, a shop with reviews, repositories, files that were downloaded.
  get_shopping_linked_received_emails: [...MAIL, "attachments"],
  get_shopping_linked_unread_emails: [...MAIL, "attachments"],
  get_github_linked_received_emails: [...MAIL, "attachments"],
  get_github_linked_unread_emails: [...MAIL, "attachments"],
  search_product: ["product_id", "price", "rating", "category"],
  get_github_repository_information: ["name", "owner"],
  browse_webpage: [],
  input_to_webpage: [],
  list_directory: [],
};

/** `a server that says nothing`: no labels, no annotations. `labels`: every call with an effect counts as one that sends private data out. */
export const SETTINGS = {
  "no gate": { mode: "off", knowsUser: false },
  labels: { mode: "off", knowsUser: false },
  ask: { mode: "ask", knowsUser: true },
  strict: { mode: "strict", knowsUser: true },
  "ask, a server that says nothing": { mode: "ask", knowsUser: true, saysNothing: true },
};

export function labelsOf({ name, description = "" }, setting) {
  const isReadOnly = /^(get|read|list|search|check|view|browse)_|^cart_total$/.test(name);
  const kind = isReadOnly ? "readonly" : "write";
  const reachesOut = /webpage|_through_url/.test(name);
  const service = BY_OTHERS[name];
  if (SETTINGS[setting].saysNothing) return { kind: "execute", given: {} };
  if (setting === "no gate") return { kind, given: {} };
  const labels = service ? ["untrusted_input"] : [];
  if (setting === "labels") {
    if (!isReadOnly || reachesOut) labels.push("outside_effect", "sensitive_data");
    return { kind, given: { labels } };
  }
  if (reachesOut) labels.push("outside_effect");
  if (/passport|credit card/i.test(description)) labels.push("sensitive_data");
  const fields = Object.fromEntries((service ?? (isReadOnly ? [] : ["id", "id_"])).map((field) => [field, "service"]));
  return { kind, reachesOut, given: { labels, results: isReadOnly && !service ? { "*": "own" } : fields } };
}

const DESTINATION = /(^|_)(to|recipients?|cc|bcc|emails?|participants?|users?|channel|url|iban)$/i;

/** The addresses among the arguments: where something goes. */
export function addressesOf(args, name = "") {
  if (typeof args === "string") return DESTINATION.test(name) ? [args] : [];
  if (Array.isArray(args)) return args.flatMap((one) => addressesOf(one, name));
  return Object.entries(args ?? {}).flatMap(([key, one]) => addressesOf(one, key));
}
