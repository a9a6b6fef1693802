// Reads a file of readings in the browser: any order of columns, any usual delimiter, decimal point or comma.
import { instantOf } from "./calendar.js";

const TIME_WORDS = /time|date|stamp|zeit|datum|begin|from|start|heure|hora/i;
const VALUE_WORDS = /value|reading|kwh|kw\b|wh\b|consum|usage|power|energ|verbrauch|wert|menge|leistung|import|count/i;
const DAY_FIRST = /^(\d{1,2})[./](\d{1,2})[./](\d{4})(?:[ T,]+(\d{1,2}):(\d{2})(?::(\d{2}))?)?$/;
const YEAR_FIRST = /^(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?:[ T]+(\d{1,2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?)?\s*(Z|[+-]\d{2}:?\d{2})?$/;

function cells(line, mark) {
  const found = [];
  for (const [, quoted, plain] of line.matchAll(new RegExp(`(?:^|${mark === "\t" ? "\t" : `\\${mark}`})(?:"((?:[^"]|"")*)"|([^${mark === "\t" ? "\t" : `\\${mark}`}]*))`, "g"))) {
    found.push((quoted ?? plain ?? "").replaceAll('""', '"').trim());
  }
  return found;
}

/** The delimiter that cuts most lines into the same number of cells, at least two; none for one column. */
function delimiter(lines) {
  let [best, most] = ["", 0];
  for (const mark of [";", "\t", ",", "|"]) {
    const counts = lines.slice(0, 200).map((line) => cells(line, mark).length);
    const usual = [...counts].sort((a, b) => a - b)[counts.length >> 1];
    const alike = counts.filter((count) => count === usual).length / counts.length;
    if (usual > 1 && alike > most + 0.05) [best, most] = [mark, alike];
  }
  return best;
}

const number = (text, comma) => {
  const plain = comma ? text.replaceAll(".", "").replace(",", ".") : text.replaceAll(/(?<=\d),(?=\d{3}\b)/g, "");
  return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) ? plain : null;
};

/** The instant of a text, in a time zone if it names no offset of its own; null if it is not a time. */
export function instantOfText(text, zone, dayFirst = true) {
  const iso = YEAR_FIRST.exec(text);
  if (iso) {
    const [year, month, day, hour, minute, second] = iso.slice(1, 7).map((part) => Number(part ?? 0));
    if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 24) return null;
    if (!iso[7]) return instantOf([year, month, day, hour, minute, second], zone);
    const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(iso[7]) ?? [null, "+", 0, 0];
    const offset = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60000 : 60000);
    return Date.UTC(year, month - 1, day, hour, minute, second) - offset;
  }
  const local = DAY_FIRST.exec(text);
  if (!local) return null;
  const [first, second_, year, hour, minute, second] = local.slice(1).map((part) => Number(part ?? 0));
  const [day, month] = dayFirst ? [first, second_] : [second_, first];
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 ? instantOf([year, month, day, hour, minute, second], zone) : null;
}

/**
 * The readings of a file: `[{ instant, value }]` in order of time, with `value` as decimal text. Throws if it holds none.
 * The column of times is the one with most times; that of readings has a fitting name, or else varies and is not a count.
 */
export function readReadings(text, zone) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
  const mark = delimiter(lines);
  const rows = lines.slice(0, 200000).map((line) => (mark ? cells(line, mark) : [line]));
  const width = Math.max(0, ...rows.slice(0, 200).map((row) => row.length));
  const some = rows.slice(0, 500);
  const comma = mark !== "," && some.flat().some((cell) => /^[+-]?\d+(\.\d{3})*,\d+$/.test(cell));
  const dayFirst = !some.flat().some((cell) => { const f = DAY_FIRST.exec(cell); return f && Number(f[2]) > 12; });
  const columns = Array.from({ length: width }, (_, column) => describe(some, column, zone, comma, dayFirst));
  const time = pick(columns, (each) => each.times, TIME_WORDS);
  const value = pick(columns.map((each, column) => (column === time ? { ...each, numbers: 0 } : each)), (each) => each.numbers, VALUE_WORDS);
  if (time < 0 || value < 0) throw new RangeError(time < 0 ? "times" : "numbers");
  const found = new Map();
  for (const row of rows) {
    const instant = instantOfText(row[time] ?? "", zone, dayFirst), read = number(row[value] ?? "", comma);
    if (instant !== null && read !== null && !found.has(instant)) found.set(instant, read);
  }
  if (found.size < 2) throw new RangeError("few");
  return [...found].map(([instant, read]) => ({ instant, value: read })).sort((a, b) => a.instant - b.instant);
}

function describe(rows, column, zone, comma, dayFirst) {
  const texts = rows.map((row) => row[column] ?? "");
  const values = texts.map((text) => number(text, comma)).filter((each) => each !== null).map(Number);
  const times = texts.filter((text) => instantOfText(text, zone, dayFirst) !== null).length;
  const counted = values.length > 2 && values.every((each, i) => i === 0 || each === values[i - 1] + 1);
  const same = new Set(values).size < 2;
  return { name: number(texts[0] ?? "", comma) === null ? texts[0] : "", times, numbers: counted || same ? 0.1 * values.length : values.length };
}

/** The column with the most cells of a kind; a fitting name decides between columns that have nearly as many. */
function pick(columns, count, words) {
  const scores = columns.map((each) => (count(each) ? count(each) * (words.test(each.name) ? 1.5 : 1) : 0));
  const best = Math.max(0, ...scores);
  return best ? scores.lastIndexOf(best) : -1;
}

/** Readings by local day: `[{ day: [year, month, day], begins, readings }]`. */
export function byDay(readings, zone, dayStart) {
  const days = new Map();
  for (const each of readings) {
    const [begins] = dayStart(each.instant, "day", zone);
    if (!days.has(begins)) days.set(begins, []);
    days.get(begins).push(each);
  }
  return [...days].map(([begins, own]) => ({ begins, readings: own }));
}
