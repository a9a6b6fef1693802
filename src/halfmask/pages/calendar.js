// Periods in a campaign's time zone, as `halfmask_device.campaign_calendar` counts them. Times are milliseconds.
const MINUTES = { quarter_hour: 15, half_hour: 30, hour: 60 };
const formats = new Map();

/** Year, month, day, hour, minute and second of an instant in a time zone. */
export function localParts(instant, zone) {
  if (!formats.has(zone)) {
    formats.set(zone, new Intl.DateTimeFormat("en-GB", {
      timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
      hour: "numeric", minute: "numeric", second: "numeric"
    }));
  }
  const found = Object.fromEntries(formats.get(zone).formatToParts(instant).map((each) => [each.type, +each.value]));
  return [found.year, found.month, found.day, found.hour, found.minute, found.second];
}

/** The instant at which clocks of a time zone show this; the earlier one if they show it twice. */
export function instantOf([year, month, day, hour = 0, minute = 0, second = 0], zone) {
  const shown = Date.UTC(year, month - 1, day, hour, minute, second);
  const offset = (at) => {
    const [y, m, d, h, min, s] = localParts(at, zone);
    return Date.UTC(y, m - 1, d, h, min, s) - at;
  };
  const day_ = 86400000;
  const tried = [...new Set([offset(shown - day_), offset(shown + day_)])].map((by) => shown - by);
  const right = tried.filter((at) => at + offset(at) === shown);
  return right.length ? Math.min(...right) : Math.max(...tried);
}

/** First instants of the period that an instant lies in, and of the next one. */
export function periodOf(instant, period, zone) {
  if (MINUTES[period]) {
    const length = MINUTES[period] * 60000, begins = Math.floor(instant / length) * length; // in UTC, as devices count
    return [begins, begins + length];
  }
  const [year, month, day] = localParts(instant, zone);
  const weekday = (new Date(Date.UTC(year, month - 1, day)).getUTCDay() + 6) % 7;
  const first = { day: [year, month, day], week: [year, month, day - weekday], month: [year, month, 1], year: [year, 1, 1] };
  const next = { day: [year, month, day + 1], week: [year, month, day - weekday + 7], month: [year, month + 1, 1], year: [year + 1, 1, 1] };
  return [first, next].map((each) => instantOf(each[period] ?? each.day, zone));
}

/** An instant in the one spelling that devices mask by: 2026-01-01T00:30:00+00:00. */
export function canonical(instant) {
  const text = new Date(instant).toISOString();
  const rest = text.slice(19, 23) === ".000" ? "" : `${text.slice(19, 23)}000`;
  return `${text.slice(0, 19)}${rest}+00:00`;
}

/** Days since 1970 in UTC, which name the keys. */
export const dayNumber = (instant) => Math.floor(instant / 86400000);
