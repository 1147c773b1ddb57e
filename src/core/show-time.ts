/** Times for people: one form of dates and one of durations, in every interface that prints text. */

/** In the local time zone, in a form that sorts: `2026-11-16 05:30`. */
export function showTime(at: number, { seconds = false }: { seconds?: boolean } = {}): string {
  const date = new Date(at);
  const two = (number: number): string => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return seconds ? `${day} ${time}:${two(date.getSeconds())}` : `${day} ${time}`;
}

export function showDuration(ms: number): string {
  if (ms < 1) return "<1 ms";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return showMinutes(ms);
}

/** The time between two moments, without fractions: `40 s`, `3 min`, `23 h`, `5 days`. */
export function showSpan(ms: number): string {
  return ms < 60_000 ? `${Math.max(0, Math.round(ms / 1000))} s` : showMinutes(ms);
}

function showMinutes(ms: number): string {
  const minutes = Math.round(ms / 60_000);
  if (minutes < 120) return `${minutes} min`;
  const hours = Math.round(minutes / 60);
  return hours < 72 ? `${hours} h` : `${Math.round(hours / 24)} days`;
}
