import { BoundedMap } from "../../core/bounded-map.ts";
import { z } from "zod";
import { ToolCategory } from "../../core/category.ts";
import type { Clock } from "../../core/clock.ts";
import { text } from "../../core/content.ts";
import { createTool } from "../../core/create-tool.ts";
import { toolError, type ToolError } from "../../core/error.ts";
import { nearestNames } from "../../core/nearest-name.ts";
import { describeOutput, field } from "../../schema/describe-output.ts";

export interface CurrentTimeOptions {
  clock: Clock;
  /** IANA name of the default zone. Default: the host's zone. */
  timezone?: string;
}

export function createCurrentTimeTool({ clock, timezone }: CurrentTimeOptions) {
  return createTool({
    name: "current_time",
    title: "Current time",
    description: {
      short: "Returns the current date, time and weekday in a time zone.",
      usageNotes: ["City names work if they are part of a zone's name. Daylight saving time is included."],
      examples: [
        { input: {}, description: "in the time zone of this machine" },
        { input: { timezone: "Asia/Shanghai" }, description: "in China" },
      ],
    },
    parameters: z.object({
      timezone: z
        .string()
        .max(64)
        .optional()
        .describe('IANA name of a time zone, such as "Europe/Paris" or "UTC". Default: the zone of this machine'),
    }),
    kind: "readonly",
    category: ToolCategory.SYSTEM,
    tags: ["time", "date", "clock", "timezone"],
    builtIn: {
      zh: { title: "当前时间", short: "返回某个时区的当前日期、时间和星期。" },
      sameAs: { opencode: [], gemini: [] },
    },
    output: describeOutput({
      timestamp: field.number("Unix milliseconds"),
      iso: field.text("ISO 8601, with the offset of the zone"),
      timezone: field.text(),
    }),
    run({ timezone: requested = timezone ?? hostZone(clock.monotonic()) }) {
      const timestamp = clock.now();
      const format = formatIn(requested);
      const zone = nameOf(requested, format);
      const parts = new Map(format.formatToParts(timestamp).map(({ type, value }) => [type, value]));
      const iso = isoOf(timestamp, parts);
      return {
        content: [text(`${iso}, ${parts.get("weekday")}, time zone ${zone} (Unix time ${timestamp} ms)`)],
        display: `${iso} ${zone}`,
        details: { timestamp, iso, timezone: zone },
      };
    },
  });
}

/** A new format takes 70 µs, a fifth of a whole call. */
const formats = new BoundedMap<string, Intl.DateTimeFormat>(32);
/** People travel: the zone of the host is read again after this time. */
const ZONE_MS = 1000;
let known = { zone: "UTC", until: Number.NEGATIVE_INFINITY };

/** The time zone is undefined if TZ is invalid, although the types do not say so. */
function hostZone(now: number): string {
  if (now < known.until) return known.zone;
  const { timeZone }: { timeZone?: string } = new Intl.DateTimeFormat().resolvedOptions();
  known = { zone: timeZone ?? "UTC", until: now + ZONE_MS };
  return known.zone;
}

function formatIn(zone: string): Intl.DateTimeFormat {
  const format = formats.get(zone) ?? newFormat(zone);
  formats.set(zone, format);
  return format;
}

function newFormat(zone: string): Intl.DateTimeFormat {
  // Only newer runtimes accept offsets as zones.
  if (/^[+-]/.test(zone)) throw unknownZone(zone);
  try {
    return new Intl.DateTimeFormat("en-US-u-ca-iso8601-nu-latn", {
      timeZone: zone,
      hourCycle: "h23",
      weekday: "long",
      year: "numeric",
      month: "2-digit",
      day: "2-digit",
      hour: "2-digit",
      minute: "2-digit",
      second: "2-digit",
    });
  } catch {
    throw unknownZone(zone);
  }
}

/** Corrects only case and abbreviations, because runtimes resolve names to old ones (Asia/Kolkata to Asia/Calcutta). */
function nameOf(requested: string, format: Intl.DateTimeFormat): string {
  const resolved = format.resolvedOptions().timeZone;
  const isSame = resolved.toLowerCase() === requested.toLowerCase();
  return requested.includes("/") && !isSame ? requested : resolved;
}

function isoOf(timestamp: number, parts: ReadonlyMap<string, string>): string {
  const part = (name: string): number => Number(parts.get(name));
  const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
  const offset = Math.round((local - timestamp) / 60_000);
  const shown = new Date(timestamp + offset * 60_000).toISOString();
  if (offset === 0) return shown;
  const hours = String(Math.floor(Math.abs(offset) / 60)).padStart(2, "0");
  const minutes = String(Math.abs(offset) % 60).padStart(2, "0");
  return `${shown.slice(0, -1)}${offset < 0 ? "-" : "+"}${hours}:${minutes}`;
}

const WELL_KNOWN = ["UTC", "America/New_York", "Europe/London", "Asia/Shanghai"];

function unknownZone(zone: string): ToolError {
  const names = [...new Set([...nearestNames(zone, Intl.supportedValuesOf("timeZone")), ...WELL_KNOWN])];
  return toolError("invalid_input", `There is no time zone ${JSON.stringify(zone)}.`, {
    next: `Use an IANA name, such as ${names.join(", ")}.`,
    data: { timezone: zone, valid: names },
  });
}
