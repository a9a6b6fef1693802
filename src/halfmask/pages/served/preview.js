// What the choose page draws: a day or a month, and what others get of it, masked by the device's exact program.
import { Lattice, newChain, report } from "./device.js";
import { splitReport } from "./prio3.js";
import { canonical } from "./calendar.js";

const SHAPE = [0.45, 0.4, 0.38, 0.37, 0.38, 0.5, 0.95, 1.3, 1.1, 0.9, 0.85, 0.95, 1.2, 1, 0.85, 0.85, 1.05, 1.7, 2.5, 2.7, 2.2, 1.6, 1, 0.6];
const WEEK = [0.9, 1, 0.95, 1.05, 1, 1.35, 1.3];
const MOST_POINTS = 96;
const DAY = 86400000;

/** Readings of a day, if a period says how many there are. */
export function readingsOfDay(campaign) {
  const periods = { quarter_hour: 96, half_hour: 48, hour: 24, day: 1, week: 1 / 7, month: 1 / 30, year: 1 / 365 };
  const known = campaign.every_minutes ? 1440 / campaign.every_minutes : (campaign.readings_expected ?? 0) * periods[campaign.period];
  return Math.round(known) || 48;
}

/** An example in the campaign's unit: a day of readings, or thirty totals. `change` is a typical size if it is stated. */
export function example(campaign, { change, range }) {
  const begins = Math.floor(Date.now() / DAY) * DAY, low = Number(campaign.lattice.low);
  if (campaign.release === "total") {
    const typical = low + 0.3 * range;
    return Array.from({ length: 30 }, (_, k) => ({ instant: begins + k * DAY, value: String(typical * WEEK[k % 7] * (1 + 0.12 * Math.sin(2.3 * k))) }));
  }
  const count = Math.min(readingsOfDay(campaign), MOST_POINTS), typical = change < range / 2 ? change : 0.1 * range;
  return Array.from({ length: count }, (_, k) => {
    const hour = (24 * k) / count, at = Math.floor(hour), rest = hour - at;
    return { instant: begins + (k * DAY) / count, value: String(typical * (SHAPE[at] * (1 - rest) + SHAPE[(at + 1) % 24] * rest)) };
  });
}

export class Preview {
  constructor(campaign) {
    const { step, low, high } = campaign.lattice;
    Object.assign(this, { lattice: new Lattice(step, low, high), step: Number(step), key: newChain() });
  }
  /** What others get of readings by a level: values, or shares from 0 to 1 if the level splits. */
  seen(setting, readings) {
    const steps = readings.map((each) => this.lattice.steps(each.value));
    if (setting.endsWith("@split")) return steps.map((each) => this.share(each));
    return readings.map(({ instant }, k) => {
      const time = canonical(instant), total = setting.endsWith("@total");
      const masked = report(setting, this.lattice, { sensor: "preview", time: total ? `${time}/${time}` : time, key: this.key, steps: steps[k] });
      return Number(masked) * this.step;
    });
  }
  /** The first number of one service's share: it is uniformly random. */
  share(steps) {
    const { leader } = splitReport(this.lattice.high - this.lattice.low, "preview", steps - this.lattice.low);
    return leader.slice(0, 8).reduce((all, byte, k) => all + byte * 256 ** (k - 8), 0);
  }
}
